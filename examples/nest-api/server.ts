// A Nest backend behind Gatehouse. It reads SERVICE_AUTH_URL, SERVICE_APP_CODE and JWT_ACCESS_SECRET (`authctl app env CODE`
// prints them) and accepts only requests with a token of this app. It checks the token locally, without a call to the service.
import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { createAuth, type Principal } from '@gatehouse/sdk'
import { AuthErrorFilter, AuthPrincipal, requireAuth } from '@gatehouse/sdk/nest'
import { Controller, Delete, Get, HttpCode, Module, UseGuards } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'

const auth = createAuth()

@Controller()
@UseGuards(requireAuth(auth))
class NotesController {
  @Get()
  show(@AuthPrincipal() principal: Principal) {
    return { hello: principal.claims.email, app: principal.claims.app_code }
  }

  @Delete('notes')
  @HttpCode(204)
  @UseGuards(requireAuth(auth, { permissions: ['notes:delete'] }))
  clear() {}

  @Delete('notes/:id')
  @HttpCode(204)
  drop(@AuthPrincipal() principal: Principal) {
    principal.assert('notes:delete')
  }
}

@Module({ controllers: [NotesController] })
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error'] })
app.useGlobalFilters(new AuthErrorFilter(app.getHttpAdapter()))
app.enableShutdownHooks()
await auth.readyWithin(5)
await app.listen(process.env.PORT ?? 3000, '127.0.0.1')
console.log(`listening on http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`)
