// Runs oidc-provider with SQLite storage as a separate server. A request to `/seed` creates a grant, and answers with its refresh
// token and the client's credentials. One to `/sign-in` signs a person in, and answers with the cookie of the session.
import { createServer } from 'node:http'
import Database from 'better-sqlite3'
import { Provider } from 'oidc-provider'

const db = new Database(process.env.DATABASE_URL.slice('sqlite:'.length))
for (const pragma of ['journal_mode = WAL', 'synchronous = FULL']) db.pragma(pragma)
db.exec(
  'create table rows (model text, id text, payload text, grant_id text, expires_at integer, consumed_at integer, primary key (model, id))',
)
db.exec('create index rows_grant on rows (grant_id)')
db.exec("create index rows_uid on rows (json_extract(payload, '$.uid'), model)")
const put = db.prepare('insert or replace into rows (model, id, payload, grant_id, expires_at) values (?, ?, ?, ?, ?)')
const get = db.prepare('select payload, consumed_at from rows where model = ? and id = ?')
const getByUid = db.prepare("select id from rows where json_extract(payload, '$.uid') = ? and model = ?")
const consume = db.prepare('update rows set consumed_at = ? where model = ? and id = ?')
const drop = db.prepare('delete from rows where model = ? and id = ?')
const revoke = db.prepare('delete from rows where grant_id = ?')

class SqliteAdapter {
  constructor(model) {
    this.model = model
  }
  async upsert(id, payload, expiresIn) {
    put.run(this.model, id, JSON.stringify(payload), payload.grantId ?? null, Math.floor(Date.now() / 1000) + (expiresIn ?? 0))
  }
  async find(id) {
    const row = get.get(this.model, id)
    return row && { ...JSON.parse(row.payload), ...(row.consumed_at ? { consumed: row.consumed_at } : {}) }
  }
  async findByUid(uid) {
    return this.find(getByUid.get(uid, this.model)?.id)
  }
  async consume(id) {
    consume.run(Math.floor(Date.now() / 1000), this.model, id)
  }
  async destroy(id) {
    drop.run(this.model, id)
  }
  async revokeByGrantId(grantId) {
    revoke.run(grantId)
  }
}

const server = createServer((request, response) => listener(request, response))
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${server.address().port}`
const provider = new Provider(url, {
  adapter: SqliteAdapter,
  clients: [
    {
      client_id: 'bench',
      client_secret: 'bench-secret',
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: ['https://example.com/cb'],
    },
  ],
  scopes: ['openid', 'offline_access', 'email'],
  claims: { openid: ['sub'], email: ['email'] },
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  features: { devInteractions: { enabled: false } },
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, email: `${sub}@example.com` }) }),
})
const callback = provider.callback()
const listener = async (request, response) => {
  if (request.url === '/sign-in') return signIn(response)
  if (request.url !== '/seed') return callback(request, response)
  const client = await provider.Client.find('bench')
  const grant = new provider.Grant({ accountId: 'user', clientId: 'bench' })
  grant.addOIDCScope('openid offline_access email')
  const grantId = await grant.save()
  const token = new provider.RefreshToken({
    accountId: 'user',
    client,
    grantId,
    scope: 'openid offline_access email',
    gty: 'authorization_code',
  })
  response.end(JSON.stringify({ client_id: 'bench', client_secret: 'bench-secret', refresh_token: await token.save() }))
}
async function signIn(response) {
  const grant = new provider.Grant({ accountId: 'user', clientId: 'bench' })
  grant.addOIDCScope('openid email')
  const session = new provider.Session({})
  session.loginAccount({ accountId: 'user', loginTs: Math.floor(Date.now() / 1000) })
  session.ensureClientContainer('bench')
  session.grantIdFor('bench', await grant.save())
  const cookie = `_session=${await session.save(86_400)}`
  response.end(JSON.stringify({ client_id: 'bench', client_secret: 'bench-secret', cookie }))
}
console.log(JSON.stringify({ url }))
process.on('SIGTERM', () => process.exit(0))
