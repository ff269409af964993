import { type TestService, testDatabase } from './service.ts'

/** The texts of the statements that a service with one connection runs from now on, in their order. */
export async function traceStatements({ deps }: TestService): Promise<string[]> {
  const statements: string[] = []
  const { client } = deps.db
  const connection = await client.acquireConnection()
  const name = testDatabase() === 'postgres' ? 'query' : 'prepare'
  const run = connection[name].bind(connection)
  connection[name] = (statement: string | { text: string }, ...rest: unknown[]) => {
    statements.push(typeof statement === 'string' ? statement : statement.text)
    return run(statement, ...rest)
  }
  client.releaseConnection(connection)
  return statements
}
