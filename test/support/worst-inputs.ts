// The dearest requests of each kind that a stranger can send, at any share of their largest size. test/bench/parsers.ts and
// test/contract/input-costs.test.ts send them.
import { connect } from 'node:net'

export interface WorstInput {
  /** What is parsed, and what makes it dear. */
  name: string
  /** The largest size that is parsed, in bytes. */
  largest: number
  /** The request with an input of about `bytes` bytes. */
  request(bytes: number): RawRequest
}

interface RawRequest {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
}

const queryBytes = 8 * 1024
const headerBytes = 60 * 1024
const bodyBytes = 64 * 1024
const formType = 'application/x-www-form-urlencoded'

/** `text` repeated and cut to at most `bytes` characters. */
function filled(text: string, bytes: number): string {
  return text.repeat(Math.floor(bytes / text.length))
}

function query(name: string, text: (bytes: number) => string, path = '/api/v1/health'): WorstInput {
  return { name: `query: ${name}`, largest: queryBytes, request: (bytes) => ({ path: `${path}?${text(bytes)}` }) }
}

function header(name: string, field: string, text: (bytes: number) => string, path = '/api/v1/health'): WorstInput {
  return {
    name: `header ${field}: ${name}`,
    largest: headerBytes,
    request: (bytes) => ({ path, headers: { [field]: text(bytes) } }),
  }
}

function json(name: string, text: (bytes: number) => string, path = '/api/v1/auth/login'): WorstInput {
  const headers = { 'content-type': 'application/json' }
  return { name: `JSON: ${name}`, largest: bodyBytes, request: (bytes) => ({ method: 'POST', path, headers, body: text(bytes) }) }
}

function form(name: string, text: (bytes: number) => string, path: string): WorstInput {
  const headers = { 'content-type': formType }
  return { name: `form: ${name}`, largest: bodyBytes, request: (bytes) => ({ method: 'POST', path, headers, body: text(bytes) }) }
}

/** A JSON object with one member that fills the rest. */
const member = (name: string, open: string, unit: string, close: string) => (bytes: number) =>
  `{"${name}":${open}${filled(unit, bytes - name.length - open.length - close.length - 6)}${close}}`
const names = (bytes: number) => `{${Array.from({ length: bytes / 9 }, (_, i) => `"${i.toString(36)}":0`).join(',')}}`
const nested = (bytes: number) => `{"a":${filled(`${'['.repeat(30)}${']'.repeat(30)}`, 60)}${filled(' ', bytes - 80)}}`
const deepNumbers = (bytes: number) => `{"a":[${filled(`${'['.repeat(29)}1.0${']'.repeat(29)},`, bytes - 20)}0]}`
const login = (email: string) => `{"app_code":"x","password":"correct horse","email":${email}}`
const jws = (bytes: number) =>
  `${Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url')}.${filled('eyJ9', bytes - 100)}.${'A'.repeat(43)}`

/** `appCode` names an app that exists, with redirect URLs. */
export function worstInputs(appCode: string): WorstInput[] {
  const start = `/api/v1/auth/sso/google/start`
  return [
    query('names without values', (bytes) => filled('a&', bytes)),
    query('99 names', (bytes) => filled(`${'a'.repeat(bytes / 99 - 2)}=&`, bytes - 99)),
    query('percent signs that encode nothing', (bytes) => `a=${filled('%', bytes - 2)}`),
    query('encoded characters', (bytes) => `a=${filled('%F0%9F%98%80', bytes - 2)}`),
    query(
      'a redirect URL',
      (bytes) => `app_code=${appCode}&redirect_url=https://${filled('a.', bytes / 2)}/${filled('/..', bytes / 2)}`,
      start,
    ),
    query('the token of a mail', (bytes) => `token=${filled('a', bytes - 6)}`, '/reset-password'),
    header('spaces', 'authorization', (bytes) => `Bearer ${filled('a ', bytes)}`, '/api/v1/auth/me'),
    header('a token', 'authorization', (bytes) => `Bearer ${jws(bytes)}`, '/api/v1/auth/me'),
    header('an assertion', 'authorization', (bytes) => `Bearer ${jws(bytes)}`, '/api/v1/revocations'),
    header('the token of a service account', 'authorization', (bytes) => `Bearer gsa_${filled('a', bytes)}`, '/api/v1/auth/me'),
    header('a list of hops', 'x-forwarded-for', (bytes) => filled('1.2.3.4,', bytes)),
    header('a long hop', 'x-forwarded-for', (bytes) => filled(':', bytes)),
    header('a user agent', 'user-agent', (bytes) => filled('a(', bytes)),
    header('an id', 'x-request-id', (bytes) => filled('a', bytes)),
    header('a trace', 'traceparent', (bytes) => filled('00-', bytes)),
    header('a cookie', 'cookie', (bytes) => filled('a=b; ', bytes)),
    header('types', 'accept', (bytes) => filled('a/b;q=0.1,', bytes), '/'),
    header('types without parameters', 'accept', (bytes) => filled('a/b,', bytes), '/'),
    header('a quote without end', 'accept', (bytes) => `a/b;q="${filled(',', bytes - 7)}`, '/'),
    header('parameters after a quote without end', 'accept', (bytes) => `a/b;q="${filled(';', bytes - 7)}`, start),
    header('an origin', 'origin', (bytes) => `https://${filled('a.', bytes)}`, '/api/v1/auth/me'),
    header('tags', 'if-none-match', (bytes) => filled('"a",', bytes), '/docs/init.js'),
    header('a cursor', 'last-event-id', (bytes) => filled('1', bytes), '/api/v1/revocations/stream'),
    {
      name: 'headers: many names',
      largest: headerBytes,
      request: (bytes) => ({
        path: '/api/v1/health',
        headers: Object.fromEntries(Array.from({ length: Math.min(bytes / 12, 1_900) }, (_, i) => [`x-${i}`, filled('a', 20)])),
      }),
    },
    {
      name: 'header content-type: a charset',
      largest: headerBytes,
      request: (bytes) => ({
        method: 'POST',
        path: '/api/v1/auth/login',
        headers: { 'content-type': `application/json; ${filled('charset = ', bytes - 40)}` },
        body: '{}',
      }),
    },
    {
      name: 'multipart: refused',
      largest: bodyBytes,
      request: (bytes) => ({
        method: 'POST',
        path: '/api/v1/auth/login',
        headers: { 'content-type': 'multipart/form-data; boundary=a' },
        body: filled('--a\r\n\r\n', bytes),
      }),
    },
    {
      name: 'NDJSON: without a token',
      largest: 10 * 1024 * 1024,
      request: (bytes) => ({
        method: 'POST',
        path: '/api/v1/admin/users/import',
        headers: { 'content-type': 'application/x-ndjson' },
        body: filled('{}\n', bytes),
      }),
    },
    form('names without values', (bytes) => filled('a&', bytes), '/reset-password'),
    form('49 names', (bytes) => filled(`${'a'.repeat(bytes / 49 - 2)}=&`, bytes - 49), '/reset-password'),
    form('percent signs that encode nothing', (bytes) => `a=${filled('%', bytes - 2)}`, '/api/v1/auth/token'),
    form('encoded characters', (bytes) => `token=${filled('%F0%9F%98%80', bytes - 6)}`, '/reset-password'),
    form('a password', (bytes) => `token=x&password=${filled('a', bytes - 20)}`, '/reset-password'),
    json('names', names),
    json('names that come twice', (bytes) => `{${filled('"a":0,', bytes - 8)}"b":0}`),
    json('long numbers', member('a', '[', '12345678901234567890,', '0]')),
    json('numbers with exponents', member('a', '[', '1e1,', '0]')),
    json('numbers of one digit', member('a', '[', '0,', '0]')),
    json('objects', member('a', '[', '{},', '{}]')),
    json('nesting', nested),
    json('nested numbers with decimals', deepNumbers),
    json('nested numbers in a registration', deepNumbers, '/api/v1/auth/register'),
    json('nesting without end', (bytes) => `{"a":${filled('[', bytes - 6)}`),
    json('escaped quotes', member('a', '"', '\\"', '"')),
    json('backslashes', member('a', '"', '\\\\', '"')),
    json('halves of surrogates', member('a', '"', '\\ud83d', '"')),
    json('quotes without end', (bytes) => `{${filled('"', bytes - 2)}`),
    json(
      'names in a registration',
      (bytes) => `{"app_code":"${appCode}","email":"x","a":${names(bytes - 60)}}`,
      '/api/v1/auth/register',
    ),
    json(
      'strings in a registration',
      (bytes) => `{"app_code":"${appCode}","email":"x","a":["${filled('","', bytes - 60)}"]}`,
      '/api/v1/auth/register',
    ),
    json(
      'a list of links',
      (bytes) => `{"app_code":"x","email":"a@b.de","password":"12345678","linked_app_codes":["${filled('a","', bytes - 100)}"]}`,
    ),
    json('an e-mail address of letters that expand', (bytes) => login(`"${filled('\u{FDFA}', bytes / 3 - 40)}@example.com"`)),
    json('an e-mail address with a long domain', (bytes) => login(`"a@${filled('ü', bytes / 2 - 40)}.com"`)),
    json('an e-mail address with many labels', (bytes) => login(`"a@${filled('ü.', bytes / 3 - 30)}com"`)),
    json('an e-mail address of dots', (bytes) => login(`"${filled('a.', bytes - 80)}@example.com"`)),
    json('an e-mail address of combining marks', (bytes) => login(`"a${filled('\u0301\u0323', bytes / 4 - 30)}@example.com"`)),
    json('a password', (bytes) => `{"app_code":"x","email":"a@b.de","password":"${filled('ü', bytes / 2 - 40)}"}`),
    json('a refresh token', (bytes) => `{"refresh_token":"${filled('a', bytes - 30)}"}`, '/api/v1/auth/refresh'),
    json('the token of a mail', (bytes) => `{"token":"${filled('a', bytes - 30)}"}`, '/api/v1/auth/email/verify'),
    json(
      'a device token',
      (bytes) => `{"app_code":"x","email":"a@b.de","password":"12345678","device_token":"${filled('a.', bytes - 90)}"}`,
    ),
    json(
      'a redirect URL',
      (bytes) => `{"app_code":"${appCode}","email":"a@b.de","redirect_url":"https://${filled('a/../', bytes - 90)}"}`,
      '/api/v1/auth/password/forgot',
    ),
    json(
      'a code and a verifier',
      (bytes) => `{"code":"${filled('a', bytes / 2 - 30)}","code_verifier":"${filled('a', bytes / 2 - 30)}"}`,
      '/api/v1/auth/sso/token',
    ),
  ]
}

/** Sends a request on a connection of its own and waits until it is answered. */
export async function send(port: number, { method = 'GET', path, headers = {}, body = '' }: RawRequest): Promise<void> {
  const fields = { host: 'localhost', connection: 'close', ...headers, 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const socket = connect(port, '127.0.0.1')
  const answer = await new Promise<string>((resolve) => {
    let received = ''
    socket.setEncoding('latin1').on('data', (text) => {
      received ||= String(text)
    })
    // A server that has refused the request may close the connection before it has read all of it, and its answer is lost then.
    socket.on('error', () => resolve('HTTP/1.1 400'))
    socket.on('close', () => resolve(received))
    socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
    socket.write(body)
  })
  if (!/^HTTP\/1.1 [234]/.test(answer)) throw new Error(`${method} ${path.slice(0, 40)}: ${answer.slice(0, 40)}`)
}
