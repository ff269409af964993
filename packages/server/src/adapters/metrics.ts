import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { version } from '../lib/version.ts'
import type { HashObserver } from './password-hasher.ts'

const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const waitBuckets = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5]
/** The minimum time between two collections. */
const minPauseMs = 1_000
const lagBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 60]

/** A sign-in by its method, or a registration, as metrics count them. */
export type Counted = 'password' | 'passkey' | 'magic_link' | 'email_code' | 'sso' | 'registration'

/**
 * What `/metrics` reports, in the format of Prometheus. Times are in seconds. Every label has a closed set of values: the pattern
 * of a route but never a path, a code but never an address, an id or anything else that a caller can make up.
 */
export class Metrics {
  readonly #registry = new Registry()
  #collecting: Promise<string> | undefined
  #collected: { text: string; at: number } | undefined

  readonly requests = this.#counter('http_requests_total', 'Responses by route pattern and status class', [
    'method',
    'route',
    'status',
  ])
  readonly requestSeconds = this.#histogram(
    'http_request_duration_seconds',
    'From the first byte to the response; for a stream, until it is open',
    requestBuckets,
    ['method', 'route'],
  )
  readonly logins = this.#counter('logins_total', 'Sign-ins of people by method and outcome: success, or the error code', [
    'method',
    'outcome',
  ])
  readonly registrations = this.#counter(
    'registrations_total',
    'Registrations by outcome: created, existing, or the error code',
    ['outcome'],
  )
  readonly refreshes = this.#counter('refreshes_total', 'Refreshes by outcome: success, or the error code', ['outcome'])
  readonly refusals = this.#counter('refusals_total', 'Responses with 401 or 429, by error code', ['code'])
  readonly hashWaitSeconds = this.#histogram(
    'password_hash_wait_seconds',
    'How long password hashes waited for a thread',
    waitBuckets,
  )
  readonly hashRounds = this.#counter('password_hash_rounds_total', 'bcrypt rounds that were run: 2^cost per hash')
  readonly hashesRefused = this.#counter(
    'password_hashes_refused_total',
    'Hashes refused because they would have waited more than 3 seconds',
  )
  readonly hashesWaiting = this.#gauge('password_hash_queue_length', 'Hashes waiting for a thread')
  readonly attempts = this.#counter(
    'outbox_attempts_total',
    'Attempts to send a message, by outcome: delivered, retried, given_up, or unsent if there was nothing to send',
    ['kind', 'outcome'],
  )
  readonly outboxPending = this.#gauge('outbox_pending', 'Messages still to be sent, counted up to 10000', ['kind'])
  readonly outboxOldestPendingSeconds = this.#gauge(
    'outbox_oldest_pending_seconds',
    'How long the oldest message still to be sent has waited, retries included',
    ['kind'],
  )
  readonly outboxOldestDueSeconds = this.#gauge('outbox_oldest_due_seconds', 'How long the oldest due message has waited', [
    'kind',
  ])
  readonly cleanupRemoved = this.#counter('cleanup_removed_rows_total', 'Expired rows deleted, by cleanup rule', ['rule'])
  readonly cleanupSucceeded = this.#gauge(
    'cleanup_last_success_timestamp_seconds',
    'When a cleanup rule last had nothing left to delete, in Unix seconds',
    ['rule'],
  )
  readonly auditSealed = this.#counter('audit_sealed_events_total', 'Audit events that this server sealed')
  readonly auditHead = this.#gauge('audit_head_position', 'Position of the last sealed audit event, as seen by this server')
  readonly auditRefused = this.#gauge(
    'audit_refused_events',
    'Audit events that this server refused to seal, and beginnings of the seals, that the service did not write like that',
  )
  readonly auditCutOffs = this.#counter(
    'audit_cut_offs_total',
    'How often the end of the seals was not where this server had left it: sealed audit events are gone',
  )
  readonly auditOldestUnsealedSeconds = this.#gauge(
    'audit_oldest_unsealed_seconds',
    'Age of the oldest unsealed audit event; 0 if there is none',
  )
  readonly streams = this.#gauge('revocation_streams', 'Consumers with an open stream to this server')
  readonly revocationLagSeconds = this.#histogram(
    'revocation_lag_seconds',
    'From when any server writes a revocation until this server publishes it',
    lagBuckets,
  )
  readonly horizonHeldSeconds = this.#gauge(
    'feed_horizon_held_seconds',
    'How long one open transaction has held back the cursors of the feeds; 0 on SQLite',
  )
  readonly connections = this.#gauge('database_connections', 'Connections in the pool', ['state'])
  readonly connectionsWanted = this.#gauge('database_connections_wanted', 'Requests waiting for a connection')
  readonly databaseUp = this.#gauge('database_up', '1 when the database answered this scrape within a second')

  readonly databaseWritable = this.#gauge(
    'database_writable',
    '0 while the database refuses writes, because its disk is full or it is read-only; tried every 5 seconds',
  )

  readonly servers = this.#gauge('servers', 'Servers of the database that were seen in the last minute')
  readonly serverFaults = this.#gauge(
    'server_faults',
    'How often servers of the database differ in a way that makes some requests fail; see authctl doctor',
    ['fault'],
  )

  constructor() {
    this.#gauge('build_info', 'The running version', ['version']).set({ version }, 1)
    // Prometheus sees no increase in a counter that appears with its first event, and one reuse is an alarm.
    this.refreshes.inc({ outcome: 'refresh_token_reused' }, 0)
  }

  /** Adds metrics for memory, processor, event loop and garbage collection of this process, until it ends. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.#registry })
  }

  hashObserver(): Omit<HashObserver, 'fellBack'> {
    return {
      worked: (waitedSeconds, rounds) => {
        this.hashWaitSeconds.observe(waitedSeconds)
        this.hashRounds.inc(rounds)
      },
      refused: () => this.hashesRefused.inc(),
    }
  }

  /**
   * Runs `gather`, which sets the gauges, and returns all metrics as text. This blocks the event loop for tens of milliseconds,
   * so calls during a collection, or within a second after it began, get the same text.
   */
  async collect(gather: () => Promise<void>, now: number): Promise<string> {
    if (this.#collected && Math.abs(now - this.#collected.at) < minPauseMs) return this.#collected.text
    this.#collecting ??= gather()
      .then(() => this.#registry.metrics())
      .then((text) => {
        this.#collected = { text, at: now }
        return text
      })
      .finally(() => {
        this.#collecting = undefined
      })
    return this.#collecting
  }

  #counter<L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> {
    return new Counter({ name: `gatehouse_${name}`, help, labelNames, registers: [this.#registry] })
  }

  #gauge<L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> {
    return new Gauge({ name: `gatehouse_${name}`, help, labelNames, registers: [this.#registry] })
  }

  #histogram<L extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly L[] = [],
  ): Histogram<L> {
    return new Histogram({ name: `gatehouse_${name}`, help, buckets, labelNames, registers: [this.#registry] })
  }
}
