import { Failure, messageOf, usageFailure } from '../command-line/exit-codes.ts'
import { positional, text } from '../command-line/options.ts'
import { readSource, sourceName } from '../terminal/read-source.ts'
import { command } from '../tools/command.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

export const api = command({
  path: 'api',
  options: {
    method: positional('METHOD', methods.join(', '), { completes: methods }),
    path: positional('PATH', 'Path with query, with or without /api/v1'),
    file: text('FILE', 'Body to send, JSON or .ndjson; - is standard input', { short: 'f' }),
  },
  summary: 'Call the HTTP API as the signed-in user',
  description: 'Prints the answer unchanged. Does not ask for confirmation before a write; --dry-run shows the write first.',
  examples: [
    'api GET "/admin/apps?status=active"',
    'api PATCH /admin/apps/shop -f changes.json',
    'api POST /admin/apps -f - --dry-run < app.json',
  ],
  formats: { all: ['json', 'ndjson'], terminal: 'json', pipe: 'json' },
  async run({ call, io }, { method, path, file }) {
    const verb = method.toUpperCase()
    if (!methods.includes(verb)) throw usageFailure(`METHOD must be one of ${methods.join(', ')}, not ${method}`)
    if (/^[a-z][a-z0-9+.-]*:/i.test(path))
      throw usageFailure('PATH must be below the address of the service, without a host', 'such as /admin/apps')
    if (file !== undefined && (verb === 'GET' || verb === 'HEAD')) throw usageFailure(`${verb} takes no body`)
    const lines = file?.endsWith('.ndjson') ?? false
    const body = file === undefined ? undefined : await readSource(io, file)
    if (file !== undefined && body !== undefined && !lines) assertJson(body, file)
    const answer = await call({ method: verb, path, body, ...(lines ? { contentType: 'application/x-ndjson' } : {}) })
    return { kind: 'body', body: parseBody(answer.text, answer.headers['content-type']) }
  },
})

function assertJson(body: string, file: string): void {
  try {
    JSON.parse(body)
  } catch (error) {
    throw new Failure('invalid', `${sourceName(file)} is not valid JSON: ${messageOf(error)}`, {
      code: 'invalid_json',
    })
  }
}

function parseBody(text: string, contentType: string | undefined): unknown {
  if (text === '') return undefined
  return /\bjson\b/.test(contentType ?? '') && !/ndjson/.test(contentType ?? '') ? JSON.parse(text) : text
}
