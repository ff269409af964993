// What was tried, in rows and columns.

export interface Trial {
  row: string
  column: string
  /** Throws what is wrong. Gives words where there was nothing to try. */
  run(): Promise<string | undefined>
}

export interface Matrix {
  title: string
  /** As Markdown. */
  table: string
  faults: string[]
}

/** Runs the trials one after the other, so that a fault of one is not the haste of another. */
export async function tryAll(title: string, trials: readonly Trial[]): Promise<Matrix> {
  const cells = new Map<string, string>()
  const faults: string[] = []
  for (const { row, column, run } of trials) {
    const outcome = await run().catch((error: unknown) => {
      faults.push(`${title}, ${row}, ${column}: ${error instanceof Error ? error.message : error}`)
      return 'FAILED'
    })
    process.stderr.write(`[platforms] ${row}, ${column}: ${outcome ?? 'ok'}\n`)
    cells.set(`${row}\n${column}`, outcome ?? 'ok')
  }
  const rows = [...new Set(trials.map(({ row }) => row))]
  const columns = [...new Set(trials.map(({ column }) => column))]
  const lines = [
    [title, ...columns],
    ['', ...columns].map(() => '---'),
    ...rows.map((row) => [row, ...columns.map((column) => cells.get(`${row}\n${column}`) ?? '')]),
  ]
  return { title, table: lines.map((line) => `| ${line.join(' | ')} |`).join('\n'), faults }
}
