/** The database was made by different versions of these migrations, so it may lack something that this server relies on. */
export class SchemaDiffersError extends Error {
  constructor(names: readonly string[]) {
    super(
      `the database was created by a different version of ${names.join(', ')} than the released one; create a new database, or run the version that created this one`,
    )
    this.name = 'SchemaDiffersError'
  }
}

/**
 * A newer server migrated the database, and this one would misread it. `barring` names the migrations, and what each of them needs.
 */
export class SchemaTooNewError extends Error {
  constructor(barring: readonly string[]) {
    super(`the database schema is newer than this server (it has ${barring.join(', ')}); run the newer version`)
    this.name = 'SchemaTooNewError'
  }
}

/** The database holds something that the new version would take for something else. Nothing was migrated. */
export class UpgradeRefusedError extends Error {
  constructor({ what, fault, cure }: { what: string; fault: string; cure: string }) {
    super(`${fault} ${what}; ${cure}`)
    this.name = 'UpgradeRefusedError'
  }
}
