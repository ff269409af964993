import { type Input, text } from '../command-line/options.ts'
import { readInstallation } from '../declarations/read-installation.ts'
import type { Result } from '../output/output.ts'
import { readIfThere, writeFile } from '../terminal/write-file.ts'
import { counted } from '../text/counted.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'

const options = { file: text('FILE', 'YAML file to write; an existing file is replaced', { short: 'f' }) }

export const exportDeclaration = command({
  path: 'export',
  summary: 'Write services, roles and apps as YAML',
  description:
    'Leaves out default values, the secrets of webhooks, the app authctl and the service core. ' +
    'Two exports of the same state are identical, byte for byte.',
  examples: ['export -f gatehouse.yaml', 'export --context staging > staging.yaml', 'export --json'],
  options,
  formats: { all: ['yaml', 'json'], terminal: 'yaml', pipe: 'yaml' },
  run: runExport,
})

export async function runExport({ api, io, settings }: Tools, { file }: Input<typeof options>): Promise<Result> {
  // Loaded late: the schema is slow to load, and other commands do not need it.
  const { plainDeclaration, renderDeclaration } = await import('../declarations/render-declaration.ts')
  const { services, roles, apps } = await readInstallation(api)
  const declaration = { services, roles, apps }
  const plain = plainDeclaration(declaration)
  const yaml = await renderDeclaration(declaration)
  if (file === undefined) return { kind: 'body', body: settings.format === 'json' ? plain : yaml }
  const counts = { services: services.length, roles: roles.length, apps: apps.length }
  const outcome = settings.dryRun ? 'not written (--dry-run)' : writeIfNew(file, yaml)
  const parts = [counted(counts.services, 'service'), counted(counts.roles, 'role'), counted(counts.apps, 'app')]
  io.note(`${file}: ${parts.join(', ')}; ${outcome}`)
  return { kind: 'body', body: settings.format === 'json' ? { file, ...counts, outcome } : undefined }
}

function writeIfNew(file: string, content: string): 'written' | 'unchanged' {
  if (readIfThere(file) === content) return 'unchanged'
  writeFile(file, content)
  return 'written'
}
