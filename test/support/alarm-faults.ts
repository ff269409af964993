// What each alarm of deploy/prometheus is about, done to a real server, and undone.
import { setTimeout as sleep } from 'node:timers/promises'
import { clockAhead, repeat, type Site, type startHurriedServer, steadily } from './alarm-sites.ts'
import { ADMIN_EMAIL } from './client.ts'
import type { Mailbox } from './mail-server.ts'
import type { ServerProcess } from './server-process.ts'

/** Mends the fault. */
type Mend = () => Promise<unknown>
export interface Case {
  alarms: readonly string[]
  /** Undefined for the alarm that no server answers, which is about no job. */
  job: string | undefined
  /** The values of the label `fault`, where the alarm fires for each of several faults. */
  faults?: readonly string[]
  happen(): Promise<Mend>
  /** Whether the alarm goes on for a day, or until a restart. */
  isLasting?: boolean
}

const both = async (...acts: Mend[]) => void (await Promise.all(acts.map((act) => act())))

/** Full disks, locks and old transactions, and last a database that is gone. */
export function casesOfDatabase(site: Site, postgres: { halt(how: 'fast'): Promise<void>; resume(): Promise<void> }): Case[] {
  const { job, server, ask, hold, adminToken: token } = site
  return [
    {
      alarms: ['GatehouseDatabaseRefusesWrites'],
      job,
      async happen() {
        const raise = `begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end`
        await ask(`create function full_disk() returns trigger language plpgsql as $$ ${raise} $$`)
        await ask('create trigger full_disk before insert or update on servers for each row execute function full_disk()')
        return () => ask('drop trigger full_disk on servers')
      },
    },
    {
      alarms: ['GatehouseFeedHorizonHeld'],
      job,
      happen: () => hold('select pg_current_xact_id()'),
    },
    {
      alarms: ['GatehouseDatabaseDown', 'GatehouseFaults'],
      job,
      async happen() {
        await postgres.halt('fast')
        // A small site, with a probe for each request.
        const calls = repeat(
          () =>
            both(
              () => server.call('GET', '/auth/me', { token }),
              () => server.call('GET', '/ready'),
            ),
          700,
        )
        return () => both(calls, () => postgres.resume())
      },
    },
  ]
}

/** Somebody locks a table for longer than requests may take. */
export function caseOfConnections({ job, server, hold, adminToken: token }: Site): Case {
  return {
    alarms: ['GatehouseConnectionsWanted'],
    job,
    async happen() {
      const release = await hold('lock table apps in access exclusive mode')
      const callers = Array.from({ length: 12 }, () => repeat(() => server.call('GET', '/admin/apps', { token }), 10))
      return () => both(release, ...callers)
    },
  }
}

/** Somebody locks tables again and again, for as long as requests can just wait. */
export function caseOfSlowness({ job, server, hold, adminToken: token }: Site): Case {
  return {
    alarms: ['GatehouseSlow'],
    job,
    happen: async () =>
      repeat(async () => {
        const release = await hold('lock table apps in access exclusive mode')
        const slow = server.call('GET', '/admin/apps', { token })
        await sleep(1_300)
        await release()
        await slow
      }, 50),
  }
}

export function caseOfLateRevocations({ job, server, hold, register }: Site): Case {
  return {
    alarms: ['GatehouseRevocationsLate'],
    job,
    happen: async () =>
      repeat(async () => {
        const { access_token } = await register()
        const release = await hold('lock table revocations in access exclusive mode')
        const logout = server.call('POST', '/auth/logout-all', { token: access_token })
        await sleep(2_400)
        await release()
        await logout
      }, 100),
  }
}

export type StartAnother = (
  how?: Parameters<typeof startHurriedServer>[2],
  settings?: Record<string, string>,
) => Promise<ServerProcess>

/** One of two servers dies, and comes back with other settings. */
export function casesOfPair({ job }: Site, second: ServerProcess, startAnother: StartAnother): Case[] {
  let current = second
  const replace = async (...how: Parameters<StartAnother>) => {
    await current.stop()
    current = await startAnother(...how)
  }
  const otherSecrets = {
    JWT_ACCESS_SECRET: 'the secret of another environment, by mistake',
    AUTH_ENCRYPTION_KEY: Buffer.alloc(32, 8).toString('base64'),
    AUTH_ENCRYPTION_KEY_PREVIOUS: Buffer.alloc(32, 7).toString('base64'),
  }
  return [
    {
      alarms: ['GatehouseServerDown'],
      job,
      async happen() {
        current.signal('SIGKILL')
        return () => replace()
      },
    },
    {
      alarms: ['GatehouseServersDiffer'],
      faults: ['secret', 'encryption_key', 'clock'],
      job,
      async happen() {
        await replace({ script: clockAhead(10_000) }, otherSecrets)
        // The database has the key of the one that came last.
        return () => replace({}, { AUTH_ENCRYPTION_KEY_PREVIOUS: otherSecrets.AUTH_ENCRYPTION_KEY })
      },
    },
  ]
}

export function caseOfVersions({ job }: Site, startNext: () => Promise<ServerProcess>): Case {
  return {
    alarms: ['GatehouseVersionsDiffer'],
    job,
    async happen() {
      const next = await startNext()
      return () => next.stop()
    },
  }
}

/** A mail server that refuses connections, then says nothing, then knows nobody. */
export function casesOfMail({ job, register }: Site, mailbox: Mailbox, silence: (isSilent: boolean) => void): Case[] {
  return [
    {
      alarms: ['GatehouseMailFails'],
      job,
      async happen() {
        await mailbox.close()
        await register()
        return () => mailbox.open()
      },
    },
    {
      alarms: ['GatehouseOutboxStandsStill'],
      job,
      async happen() {
        silence(true)
        const registrations = repeat(register, 200)
        return () => both(async () => silence(false), registrations)
      },
    },
    {
      alarms: ['GatehouseGivenUp'],
      job,
      isLasting: true,
      async happen() {
        mailbox.refuse.recipient = '550 nobody of that name'
        await register()
        return async () => {}
      },
    },
  ]
}

const noSeals = `create trigger no_seals before insert on audit_batches begin select raise(abort, 'no'); end`

/** Somebody changes the tables of the audit, and of the cleanup. */
export function casesOfTables({ job, server, ask }: Site): Case[] {
  return [
    {
      alarms: ['GatehouseAuditNotSealed'],
      job,
      async happen() {
        await ask(noSeals)
        await server.login(ADMIN_EMAIL, 'authctl')
        return () => ask('drop trigger no_seals')
      },
    },
    {
      alarms: ['GatehouseCleanupStandsStill'],
      job,
      async happen() {
        await ask('alter table spent_fields rename to spent_fields_old')
        return () => ask('alter table spent_fields_old rename to spent_fields')
      },
    },
    {
      alarms: ['GatehouseAuditNotWhole'],
      job,
      isLasting: true,
      async happen() {
        await ask(noSeals)
        await server.login(ADMIN_EMAIL, 'authctl')
        await ask(`update audit_events set ip = '192.0.2.1' where id = (select max(id) from audit_events)`)
        await ask('drop trigger no_seals')
        return async () => {}
      },
    },
  ]
}

/** Far more good calls than bad ones follow, as on the day before. */
async function manyTimes(act: () => Promise<unknown>): Promise<void> {
  for (let time = 0; time < 150; time += 1) await Promise.all(Array.from({ length: 10 }, act))
}

const someWrong = (email: string) => ({ email, password: 'a wrong password', app_code: 'shop' })

export function casesOfRefusals({ job, server, register, adminToken: token }: Site): Case[] {
  return [
    {
      alarms: ['GatehouseRefreshTokenReused'],
      job,
      isLasting: true,
      async happen() {
        const { refresh_token } = await register()
        for (let time = 0; time < 2; time += 1) await server.call('POST', '/auth/refresh', { body: { refresh_token } })
        return async () => {}
      },
    },
    {
      alarms: ['GatehouseRefusals'],
      job,
      async happen() {
        await manyTimes(() => server.call('GET', '/auth/me', { token }))
        return steadily(() => server.call('GET', '/auth/me', { token: 'a.token.of-elsewhere' }), 125)
      },
    },
  ]
}

export function caseOfGuesses({ job, server }: Site): Case {
  const call = (body: object) => server.call('POST', '/auth/login', { body })
  return {
    alarms: ['GatehouseGuesses'],
    job,
    async happen() {
      // A login without a password costs little, and is no guess. Prometheus sees no increase in a counter that is new.
      await call({})
      await sleep(3_000)
      await manyTimes(() => call({}))
      return steadily(() => call(someWrong('someone@example.com')), 125)
    },
  }
}

export function caseOfLoginsThatStop({ job, server }: Site): Case {
  return {
    alarms: ['GatehouseLoginsStop'],
    job,
    async happen() {
      const stop = steadily(() => server.login(ADMIN_EMAIL, 'authctl'), 200)
      await sleep(10_000)
      await stop()
      return () => server.login(ADMIN_EMAIL, 'authctl')
    },
  }
}

export function caseOfHashes({ job, server }: Site): Case {
  return {
    alarms: ['GatehouseHashesRefused'],
    job,
    async happen() {
      const callers = Array.from({ length: 60 }, (_, index) =>
        repeat(() => server.call('POST', '/auth/login', { body: someWrong(`user-${index}@example.com`) }), 100),
      )
      return () => both(...callers)
    },
  }
}
