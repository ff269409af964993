// Runs better-auth with bcrypt passwords as a separate server. It prints its URL as one line of JSON.
import { createServer } from 'node:http'
import rust from '@node-rs/bcrypt'
import bcryptNative from 'bcrypt'
import bcryptjs from 'bcryptjs'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { toNodeHandler } from 'better-auth/node'
import { admin } from 'better-auth/plugins'
import Database from 'better-sqlite3'
import pg from 'pg'

const { DATABASE_URL = '', BCRYPT = 'bcryptjs', COST = '10', UPDATE_AGE = '86400' } = process.env
const { hash, compare } = {
  bcryptjs,
  native: bcryptNative,
  rust: { hash: (password, cost) => rust.hash(password, { cost }), compare: (password, hash) => rust.verify(password, hash) },
}[BCRYPT]
const isSqlite = DATABASE_URL.startsWith('sqlite:')
const database = isSqlite
  ? new Database(DATABASE_URL.slice('sqlite:'.length))
  : new pg.Pool({ connectionString: DATABASE_URL, max: 10 })
if (isSqlite) for (const pragma of ['journal_mode = WAL', 'synchronous = FULL']) database.pragma(pragma)

const server = createServer((request, response) => handler(request, response))
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${server.address().port}`
const auth = betterAuth({
  baseURL: url,
  secret: 'a secret of the bench, at least 32 characters long',
  database,
  telemetry: { enabled: false },
  logger: { level: 'error' },
  rateLimit: { enabled: false },
  trustedOrigins: [url],
  session: { expiresIn: 2_592_000, updateAge: Number(UPDATE_AGE) },
  emailAndPassword: {
    enabled: true,
    password: {
      hash: (password) => hash(password, Number(COST)),
      verify: ({ hash: kept, password }) => compare(password, kept),
    },
  },
  plugins: [admin()],
})
await (await getMigrations(auth.options)).runMigrations()
const handler = toNodeHandler(auth)
console.log(JSON.stringify({ url }))
process.on('SIGTERM', () => process.exit(0))
