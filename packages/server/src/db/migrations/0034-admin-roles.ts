import type { Refusal } from './schema-db.ts'

export const oldestVersion = '0.1.0'

/** From this version on, holders of these roles administer. Nobody may come to that by a role that had another meaning. */
export const refusals: readonly Refusal[] = [
  {
    rows: "select code as what from roles where code in ('auditor', 'help_desk') and built_in = 0",
    fault: 'this version has a role of that code built in, whose holders administer the service: use another role instead of',
    cure: 'with the version that runs now, create a role with another code, give it to the holders, and delete this one',
  },
]
