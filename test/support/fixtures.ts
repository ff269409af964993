// Fixtures on the service in this process; each is closed after the last test of its file.
import { fixture } from './fixture.ts'
import { freezeClock } from './frozen-clock.ts'
import { buildMailingService, type Mailbox } from './mailbox.ts'
import { onFileEnd } from './on-file-end.ts'
import { buildApp, buildService, type Json, type TestService } from './service.ts'

export * from './fixture.ts'

interface ServiceOptions {
  /** Only `advance` moves the clock. */
  frozen?: boolean
}

/** A service with these settings beyond the usual. */
export function serviceFixture(settings: Record<string, string> = {}, { frozen = false }: ServiceOptions = {}): TestService {
  return fixture(async () => {
    const service = await buildService(settings, onFileEnd)
    return frozen ? freezeClock(service) : service
  })
}

/** A service and the mailbox that its mail goes to. */
export function mailingFixture(
  settings: Record<string, string> = {},
  { frozen = false }: ServiceOptions = {},
): { service: TestService; mailbox: Mailbox } {
  const mailing = fixture(() => buildMailingService(settings, onFileEnd))
  return {
    service: fixture(async () => (frozen ? freezeClock(mailing.service) : mailing.service)),
    mailbox: fixture(async () => mailing.mailbox),
  }
}

/** An app with these settings; without any, it grants access to everyone who signs up. */
export function appFixture(service: TestService, settings: Record<string, unknown> = { auto_grant_on_signup: true }): Json {
  return fixture(() => buildApp(service, settings))
}
