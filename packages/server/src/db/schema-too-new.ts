/** A newer server migrated the database, and this one would misread it. */
export class SchemaTooNewError extends Error {
  constructor(unknown: readonly string[]) {
    super(`the database schema is newer than this server (it has ${unknown.join(', ')}); run the newer version`)
    this.name = 'SchemaTooNewError'
  }
}
