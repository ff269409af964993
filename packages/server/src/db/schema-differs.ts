/** The database was made by different versions of these migrations, so it may lack something that this server relies on. */
export class SchemaDiffersError extends Error {
  constructor(names: readonly string[]) {
    super(
      `the database was made by another ${names.join(', ')} than the released one; make a new database, or run the version that made this one`,
    )
    this.name = 'SchemaDiffersError'
  }
}
