import type { Config } from './config.ts'
import { AuthError } from './errors.ts'
import type { Verify } from './verify-token.ts'

// Uses the objects that OpenTelemetry's API keeps on the global object, so that nothing is imported. Types only what is used.

type Attributes = Record<string, string | number>

interface Span {
  setAttribute(name: string, value: string | number): unknown
  setStatus(status: { code: number; message?: string }): unknown
  end(): void
}

interface Tracer {
  startSpan(name: string, options: { kind?: number; root?: boolean; attributes: Attributes }): Span
}

interface Counter {
  add(count: number, attributes: Attributes): void
}

export interface OpenTelemetry {
  readonly trace?: { getTracer(name: string): Tracer }
  readonly metrics?: { getMeter(name: string): { createCounter(name: string, options: { description: string }): Counter } }
}

const NAME = '@gatehouse/sdk'
const CLIENT = 2
const ERROR = 2

/**
 * Reports verifications, calls to the service and events to OpenTelemetry, as spans and counters. Returns the observed `check`.
 */
export function observe(config: Config, check: Verify, { trace, metrics }: OpenTelemetry): Verify {
  const tracer = trace?.getTracer(NAME)
  const meter = metrics?.getMeter(NAME)
  const app = { 'gatehouse.app_code': config.appCode }
  const [verifications, calls, events] = [
    ['verifications', 'Access tokens verified'],
    ['calls', 'Calls to the service'],
    ['events', 'Events passed to onEvent'],
  ].map(([name, description = '']) => meter?.createCounter(`gatehouse.${name}`, { description }))

  const fail = (span: Span | undefined, type: string, message?: string) => {
    span?.setAttribute('error.type', type)
    span?.setStatus({ code: ERROR, ...(message && { message }) })
  }

  config.count = ({ type }) => events?.add(1, { ...app, type })

  const ask = config.fetch as (url: string, init: { method?: string }) => Promise<Response>
  const observedFetch: typeof ask = async (url, init) => {
    const path = new URL(url).pathname
    const route = path.slice(path.lastIndexOf('/api/v1') + '/api/v1'.length)
    const { method = 'GET' } = init
    const attributes = { ...app, 'http.request.method': method, 'url.path': path }
    // The feeds belong to no request of the app.
    const root = /^\/(revocations|consumer\/changes)/.test(route)
    const span = tracer?.startSpan(`gatehouse ${method} ${route}`, { kind: CLIENT, root, attributes })
    let result = 'error'
    try {
      const response = await ask(url, init)
      result = `${response.status}`
      span?.setAttribute('http.response.status_code', response.status)
      if (response.status >= 400) fail(span, result)
      return response
    } catch (error) {
      result = Object(error).name ?? result
      fail(span, result)
      throw error
    } finally {
      span?.end()
      calls?.add(1, { ...app, route, result })
    }
  }
  config.fetch = observedFetch as Config['fetch']

  return (token) => {
    const span = tracer?.startSpan('gatehouse.verify', { attributes: app })
    const finish = (result: string) => {
      span?.end()
      verifications?.add(1, { ...app, result })
    }
    const taken = <Value>(principal: Value) => {
      finish('ok')
      return principal
    }
    const refused = (error: unknown): never => {
      const { code, hint } = AuthError.is(error) ? error : { code: 'error', hint: undefined }
      fail(span, code, hint)
      finish(code)
      throw error
    }
    try {
      const principal = check(token)
      return principal instanceof Promise ? principal.then(taken, refused) : taken(principal)
    } catch (error) {
      return refused(error)
    }
  }
}
