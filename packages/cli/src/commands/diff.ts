import { Failure } from '../command-line/exit-codes.ts'
import { flag, type Input, requiredText } from '../command-line/options.ts'
import { describeChanges } from '../declarations/describe-changes.ts'
import type { Result } from '../output/output.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'

const options = {
  file: requiredText('FILE', 'Services, roles and apps as export writes them; - is standard input', { short: 'f' }),
  prune: flag('Also show what apply --prune would delete'),
  exitCode: flag('Exit with 10 if there are differences'),
}

export const diffDeclaration = command({
  path: 'diff',
  summary: 'Show what applying a file would change',
  description: 'Entries that the file does not list are left out, unless --prune is given.',
  examples: ['diff -f gatehouse.yaml', 'diff -f gatehouse.yaml --exit-code', 'diff -f - --prune --json < gatehouse.yaml'],
  options,
  run: runDiff,
})

export async function runDiff(tools: Tools, { file, prune, exitCode }: Input<typeof options>): Promise<Result> {
  // Loaded late: the schema is slow to load, and other commands do not need it.
  const { prepare } = await import('../declarations/prepare.ts')
  const { plan } = await prepare(tools, { file, prune })
  const differences = plan.changes.map(({ change, kind, code, fields }) => ({ change, kind, code, fields }))
  const count = differences.length
  if (count === 0) tools.io.note('no differences')
  const failure =
    exitCode && count > 0
      ? new Failure('differences', count === 1 ? 'there is a difference' : `there are ${count} differences`, {
          code: 'differences',
          hint: `authctl apply -f ${file} makes these changes`,
        })
      : undefined
  return {
    kind: 'report',
    value: { differences, unchanged: plan.unchanged, unlisted: plan.unlisted },
    parts: describeChanges(differences),
    failure,
  }
}
