/** The database was made by different versions of these migrations, so it may lack something that this server relies on. */
export class SchemaDiffersError extends Error {
  constructor(names: readonly string[]) {
    super(
      `the database was created by a different version of ${names.join(', ')} than the released one; create a new database, or run the version that created this one`,
    )
    this.name = 'SchemaDiffersError'
  }
}
