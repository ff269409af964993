// Two servers share the outbox of one Postgres.
import { randomUUID } from 'node:crypto'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { startReceiver } from '../support/receiver.ts'
import { startInstance } from '../support/server-instance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, type Json, PASSWORD, testDatabase } from '../support/service.ts'

const registrations = 200
const atOnce = 20

describe.runIf(testDatabase() === 'postgres')('two servers on one database', () => {
  test('every event of 200 registrations at both servers arrives exactly once', async () => {
    const database = await createDatabase('postgres', inject('templates'))
    onTestFinished(() => database.drop())
    const settings = {
      DATABASE_URL: database.url,
      DB_POOL_MAX: '5',
      ...bootstrapAdmin,
    }
    const servers = await Promise.all([startInstance(settings), startInstance(settings)])
    const token = (await servers[0].login(ADMIN_EMAIL, 'authctl')).body.access_token
    // Slow enough that each server looks for messages while the other one's attempts are in flight.
    const receiver = await startReceiver((response) => void setTimeout(() => response.writeHead(204).end(), 30))
    const webhooks = [{ name: 'a', url: `${receiver.url}/a` }]
    const app = await servers[0].call('POST', '/admin/apps', { body: { code: 'shop', name: 'Shop', webhooks }, token })
    expect(app.status).toBe(201)

    const users: string[] = []
    const register = async (index: number) => {
      const body = { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: 'shop' }
      const reply = await servers[index % 2]!.call('POST', '/auth/register', { body })
      expect(reply.status).toBe(201)
      users.push(reply.body.user.id)
    }
    let next = 0
    const worker = async () => {
      while (next < registrations) await register(next++)
    }
    await Promise.all(Array.from({ length: atOnce }, worker))
    await expect.poll(() => receiver.requests.length, { interval: 20 }).toBeGreaterThanOrEqual(registrations)

    const pending = async (): Promise<Json[]> =>
      (await servers[1].call('GET', '/admin/apps/shop/webhook-deliveries?status=pending', { token })).body.items
    await expect.poll(pending, { interval: 20 }).toEqual([])
    const told = receiver.requests.map(({ body }) => JSON.parse(body).user.id)
    expect(told.sort()).toEqual(users.sort())
    const ids = new Set(receiver.requests.map(({ headers }) => headers['webhook-id']))
    expect(ids.size).toBe(registrations)
    await Promise.all(servers.map((server) => server.stop()))
    expect(receiver.requests).toHaveLength(registrations)
  })
})
