import type { Config, Telemetry } from './config.ts'
import { AuthError } from './errors.ts'
import type { Verify } from './verify-token.ts'

// Speaks to OpenTelemetry through what its API keeps on the global object, so that nothing is imported. Only what is used is typed.

type Attributes = Record<string, string | number>

interface Span {
  setAttribute(name: string, value: string): unknown
  setStatus(status: { code: number; message?: string }): unknown
  end(): void
}

interface Tracer {
  startSpan(name: string, options: { kind?: number; root?: boolean; attributes: Attributes }): Span
}

interface Counter {
  add(count: number, attributes: Attributes): void
}

interface OpenTelemetry {
  readonly trace?: { getTracer(name: string): Tracer }
  readonly metrics?: { getMeter(name: string): { createCounter(name: string, options: { description: string }): Counter } }
}

const NAME = '@gatehouse/sdk'
const CLIENT = 2
const ERROR = 2

/** Spans and counters for verifications, the feed and other calls, by what OpenTelemetry has registered. */
export function createTelemetry(
  { trace, metrics }: OpenTelemetry,
  { appCode }: Config,
): Telemetry & { verify(check: Verify): Verify } {
  const tracer = trace?.getTracer(NAME)
  const meter = metrics?.getMeter(NAME)
  const app = { 'gatehouse.app_code': appCode }
  const verifications = meter?.createCounter('gatehouse.verifications', { description: 'Access tokens verified, by result' })
  const calls = meter?.createCounter('gatehouse.calls', { description: 'Calls of the service, by route and result' })
  const events = meter?.createCounter('gatehouse.events', { description: 'What happened to feed and registration, by type' })

  const finish = (span: Span | undefined, error: unknown) => {
    const { code, hint } = AuthError.is(error) ? error : { code: 'error', hint: undefined }
    span?.setAttribute('error.type', code)
    span?.setStatus({ code: ERROR, ...(hint && { message: hint }) })
    span?.end()
    return code
  }
  return {
    verify: (check) => (token) => {
      const span = tracer?.startSpan('gatehouse.verify', { attributes: app })
      const taken = <Value>(principal: Value) => {
        span?.end()
        verifications?.add(1, { ...app, result: 'ok' })
        return principal
      }
      const refused = (error: unknown): never => {
        verifications?.add(1, { ...app, result: finish(span, error) })
        throw error
      }
      try {
        const principal = check(token)
        return principal instanceof Promise ? principal.then(taken, refused) : taken(principal)
      } catch (error) {
        return refused(error)
      }
    },
    async call({ path, body, inBackground = false, onText }, run) {
      const [route = ''] = path.split('?')
      const method = body ? 'POST' : 'GET'
      const attributes = { ...app, 'http.request.method': method, 'url.path': `/api/v1${route}` }
      // A stream lasts for days.
      const span = onText
        ? undefined
        : tracer?.startSpan(`gatehouse ${method} ${route}`, { kind: CLIENT, root: inBackground, attributes })
      try {
        const answer = await run()
        span?.end()
        calls?.add(1, { ...app, route, result: 'ok' })
        return answer
      } catch (error) {
        calls?.add(1, { ...app, route, result: finish(span, error) })
        throw error
      }
    },
    count: ({ type }) => events?.add(1, { ...app, type }),
  }
}
