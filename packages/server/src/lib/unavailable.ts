/**
 * What failed: making a connection, getting one from the pool in time, a statement that the database or this server gave up, or a
 * connection that ended while a statement ran on it.
 */
type DatabaseStage = 'connect' | 'acquire' | 'statement' | 'terminated'

const messages: Record<DatabaseStage, string> = {
  connect: 'could not connect to the database',
  acquire: 'the pool had no free connection',
  statement: 'the database could not run the statement now',
  terminated: 'the connection to the database ended',
}

/** The database cannot serve this request now, but a retry may succeed. Callers answer 503. The driver's error is the `cause`. */
export class DatabaseUnavailableError extends Error {
  readonly stage: DatabaseStage

  constructor(stage: DatabaseStage, cause: unknown) {
    super(messages[stage], { cause })
    this.name = 'DatabaseUnavailableError'
    this.stage = stage
  }
}

/** Runs a step. Any failure means that the database is unavailable. The stage of an inner step wins, since it is more exact. */
export async function atStage<T>(stage: DatabaseStage, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw error instanceof DatabaseUnavailableError ? error : new DatabaseUnavailableError(stage, error)
  }
}

/** Thrown when a hash would wait longer than 3 seconds for a thread; callers answer 503. */
export class HashQueueFullError extends Error {
  constructor() {
    super('the password hash queue is full')
    this.name = 'HashQueueFullError'
  }
}
