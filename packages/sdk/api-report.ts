// The public surface of each entry point as text, so that a change of it is seen where changes are read.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor'
import ts from 'typescript'

const folder = fileURLToPath(new URL('.', import.meta.url))
const { exports: entries }: { exports: Record<string, string> } = JSON.parse(
  readFileSync(join(folder, 'src', 'package.json'), 'utf8'),
)
// What `/admin` offers is docs/openapi.json as types, which is compared with the last release's by itself.
delete entries['./admin']
const silent = { logLevel: ExtractorLogLevel.None }

/** The reports by their paths from the root of the repository. Throws what the compiler says when the sources do not compile. */
export function renderApiReports(): Map<string, string> {
  const work = mkdtempSync(join(tmpdir(), 'gatehouse-api-'))
  try {
    emitDeclarations(work)
    const configs = Object.entries(entries).map(([entry, source]) => configOf(work, nameOf(entry), source))
    const [first, ...others] = configs
    const compilerState = CompilerState.create(first!, {
      additionalEntryPoints: others.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath),
    })
    return new Map(
      configs.map((config) => {
        Extractor.invoke(config, {
          localBuild: true,
          compilerState,
          messageCallback: (message) => void Object.assign(message, silent),
        })
        const report = config.reportConfigs[0]!.fileName
        return [`packages/sdk/api/${report}`, readFileSync(join(work, report), 'utf8')]
      }),
    )
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** `.` is the index, `./koa` is koa. */
function nameOf(entry: string): string {
  return entry === '.' ? 'index' : entry.slice('./'.length)
}

function emitDeclarations(outDir: string): void {
  const { config } = ts.readConfigFile(join(folder, '../../tsconfig.json'), ts.sys.readFile)
  const rootNames = Object.values(entries).map((source) => join(folder, 'src', source))
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, folder)
  const emitting = { noEmit: false, declaration: true, emitDeclarationOnly: true, outDir, rootDir: join(folder, 'src') }
  const program = ts.createProgram(rootNames, { ...options, ...emitting })
  const { diagnostics, emitSkipped } = program.emit()
  if (emitSkipped) throw new Error(ts.formatDiagnostics(diagnostics, ts.createCompilerHost({})))
}

function configOf(work: string, name: string, source: string): ExtractorConfig {
  const declarations = source.replace(/ts$/, 'd.ts')
  writeFileSync(join(work, 'package.json'), JSON.stringify({ name: '@gatehouse/sdk' }))
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: work,
      mainEntryPointFilePath: join(work, declarations),
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            lib: ['ES2023', 'DOM'],
            types: [],
            module: 'NodeNext',
            skipLibCheck: true,
            allowImportingTsExtensions: true,
            noEmit: true,
          },
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder: work,
        reportTempFolder: join(work, 'temp'),
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: { extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } } },
    },
    configObjectFullPath: join(work, 'api-extractor.json'),
    packageJsonFullPath: join(work, 'package.json'),
  })
}
