/** The database was made by other texts of these migrations than this server has, so it may lack what the server relies on. */
export class SchemaDiffersError extends Error {
  constructor(names: readonly string[]) {
    super(
      `the database was made by another ${names.join(', ')} than the released one; make a new database, or run the version that made this one`,
    )
    this.name = 'SchemaDiffersError'
  }
}
