// Runs trials and shows their outcomes as a table.

export interface Trial {
  row: string
  column: string
  /** Throws an error that says what is wrong. Returns a text for the cell if there was nothing to try. */
  run(): Promise<string | undefined>
}

export interface Matrix {
  title: string
  /** A Markdown table. */
  table: string
  faults: string[]
}

/** Runs the trials one after another, so that the load of one cannot make another fail. */
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
