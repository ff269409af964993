// Who may import whom. Each folder's rule lists what it may import; everything else of ours is refused, imports of types included.
const server = '^packages/server/src/'
const feature = `${server}(?:resources|flows)/[^/]+/`
const anyPresent = `${feature}present[.]ts$`
/** Files of a feature other than its routes, schema and presentation. */
const useCase = '(?!(?:routes|schema|present)[.]ts$|.*[.]test[.]ts$)'
const tests = '[.]test[.]ts$'
const sdk = (entries) => `^packages/sdk/src/(${entries})(/index)?[.]ts$`

const npm = (names) => `(^|/)node_modules/(${names})/`
const koa = npm('koa|koa-[^/]+|@koa/[^/]+')
const knex = npm('knex|pg|better-sqlite3')

/** The files matching `from` import nothing of ours but what matches `may`. */
const only = (name, from, may, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from, pathNot: tests },
  to: { path: '^(packages|examples|test|scripts)/', pathNot: may },
})

/** The files matching `from` never import what matches `to`; with `typesAllowed`, `import type` is free. */
const never = (name, from, to, comment, { typesAllowed = false } = {}) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from, pathNot: tests },
  to: { path: to, ...(typesAllowed && { dependencyTypesNot: ['type-only'] }) },
})

const useCasesUse = [
  `${server}(models|lib|mail|adapters|pages)/`,
  `${server}(errors|deps)[.]ts$`,
  `${server}db/(among-requests|audit-months|handle|transaction|listen|locks|schema-errors)[.]ts$`,
  anyPresent,
  `${server}resources/[^/]+/${useCase}`,
]

const cli = '^packages/cli/src/'
/** What commands are made of. Each room imports only those before it, so that no two import each other. */
const cliRooms = [
  'text',
  'network',
  'command-line',
  'terminal',
  'api',
  'output',
  'tools',
  'nouns',
  'secrets',
  'user-files',
  'doctor',
  'probe',
  'onboarding',
  'declarations',
  'completion',
  'live',
  'dashboard',
]
const cliFoundations = ['^packages/cli/package[.]json$', sdk('admin|inspect|protocol|testing')]
const roomsBefore = (room) => cliRooms.slice(0, cliRooms.indexOf(room)).map((before) => `${cli}${before}/`)

export default {
  forbidden: [
    {
      name: 'not-resolvable',
      comment:
        'An import that leads nowhere from here, or to a package that the package.json does not name, would pass every other rule.',
      severity: 'error',
      from: {},
      // An optional peer of the SDK that only its entry point for Next.js loads.
      to: { couldNotResolve: true, pathNot: '^next/(headers|server)[.]js$' },
    },
    {
      name: 'no-cycle-outside-models',
      comment: 'Only models may form a cycle, since relations point both ways.',
      severity: 'error',
      from: {},
      to: { circular: true, via: { pathNot: `${server}models/` } },
    },
    never(
      'programs-have-effects',
      '^packages/',
      [`${server}gatehouse[.]ts$`, '^packages/cli/src/authctl[.]ts$'],
      'These files run on import, so nothing imports them.',
    ),
    never(
      'sources-without-tests',
      '^packages/',
      ['^(test|scripts|examples)/', tests],
      'What is shipped knows nothing of how it is tested.',
    ),

    only(
      'app-assembles-routes',
      `${server}app[.]ts$`,
      [
        `${server}http/`,
        `${feature}routes[.]ts$`,
        `${server}deps[.]ts$`,
        `${server}db/(handle|transaction)[.]ts$`,
        `${feature}(administration|authenticate-caller|client-secrets|consumers|rate-limits|magic-link)[.]ts$`,
      ],
      'app.ts lists routers and hands http/ what it needs: use-cases that look up callers and count attempts, and rehearsals.',
    ),
    only(
      'routes-use-their-own',
      `${server}((?:resources|flows)/[^/]+)/routes[.]ts$`,
      [`${server}$1/(?!routes[.]ts$)`, `${server}(http|pages|lib)/`, `${server}flows/sign-in/`],
      'A routes.ts imports http/, lib/, flows/sign-in/ and the files of its own feature; never models or another feature.',
    ),
    never('routes-without-knex', `${feature}routes[.]ts$`, knex, 'Routes declare; use-cases speak to the database.'),
    {
      name: 'shapes-are-pure',
      comment:
        'schema.ts and present.ts import zod, lib/, mail/, the types of models and of their own schema, and other present.ts.',
      severity: 'error',
      from: { path: `${server}((?:resources|flows)/[^/]+)/(schema|present)[.]ts$`, pathNot: tests },
      to: {
        path: '^(packages|examples|test|scripts)/',
        pathNot: [`${server}(lib|mail|models)/`, anyPresent, `${server}$1/schema[.]ts$`],
      },
    },
    never(
      'shapes-use-models-as-types',
      `${feature}(schema|present)[.]ts$`,
      `${server}models/`,
      'Of models, schema.ts and present.ts need the types alone: `import type`.',
      { typesAllowed: true },
    ),
    never(
      'shapes-without-koa-or-knex',
      `${feature}(schema|present)[.]ts$`,
      [koa, knex, npm('objection')],
      'Shapes know no transport and no database.',
    ),

    only(
      'http-is-handed-what-it-needs',
      `${server}http/`,
      [
        `${server}(http|lib|adapters)/`,
        `${server}pages/(fields|style|texts/)`,
        `${server}(errors|deps)[.]ts$`,
        `${server}db/handle[.]ts$`,
      ],
      'http/ imports Koa, errors, deps, lib/, the texts and the style of pages and the types of adapters and handles; app.ts hands it the rest.',
    ),
    only(
      'flows-import-no-flow-but-sign-in',
      `${server}(flows/(?!(?:account|mail-links|oauth)/)[^/]+)/${useCase}`,
      [...useCasesUse, `${server}$1/(?!routes[.]ts$)`, `${server}flows/sign-in/${useCase}`],
      'A flow uses resources’ use-cases, any presentation, models/, lib/, mail/, errors, deps and the flow `sign-in`.',
    ),
    only(
      'pages-use-flows',
      `${server}flows/(account|mail-links|oauth)/${useCase}`,
      [...useCasesUse, `${server}flows/$1/(?!routes[.]ts$)`, `${server}flows/[^/]+/${useCase}`],
      'The pages of the service do what a frontend would ask of the other flows; no flow uses them.',
    ),
    never(
      'sign-in-imports-no-flow',
      `${server}flows/sign-in/`,
      `${server}flows/(?!sign-in/)(?!.*/present[.]ts$)`,
      'Other flows build on sign-in, so it builds on none.',
    ),
    never(
      'sessions-open-by-sign-in',
      `${server}(?!flows/(?:sign-in|refresh|password)/|resources/sessions/)`,
      `${server}resources/sessions/(?:admit|open-session)[.]ts$`,
      'Every sign-in ends in `enter`. Refresh and a change of the password go on with an existing session.',
      { typesAllowed: true },
    ),
    only(
      'resources-import-no-flow',
      `${server}(resources/[^/]+)/${useCase}`,
      [...useCasesUse, `${server}$1/(?!routes[.]ts$)`],
      'A resource uses other resources’ use-cases, any presentation, models/, lib/, mail/, errors and deps; never flows/ or http/.',
    ),
    never(
      'use-cases-use-schema-as-types',
      `${feature}${useCase}`,
      `${feature}schema[.]ts$`,
      'The input of a use-case is parsed already; it needs its own schema as types alone: `import type`.',
      { typesAllowed: true },
    ),
    never('use-cases-without-koa', [`${feature}${useCase}`, `${server}workers/`], koa, 'Use-cases know no transport.'),
    only(
      'workers-import-as-flows',
      `${server}workers/`,
      [...useCasesUse, `${server}workers/`, `${server}db/inspect-connection[.]ts$`],
      'Workers use what flows use, and may tell why a statement failed.',
    ),
    only(
      'models-import-models',
      `${server}models/`,
      [`${server}(models|lib)/`, `${server}db/(bulk|handle|listen|locks|statement)[.]ts$`],
      'Models import lib/, handles, statements, locks and notices, Objection and each other; nothing else.',
    ),
    {
      name: 'models-know-only-objection',
      comment: 'Models import lib/, Objection and each other; nothing else.',
      severity: 'error',
      from: { path: `${server}models/`, pathNot: tests },
      to: { dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'core'], pathNot: npm('objection') },
    },
    only(
      'deps-import-the-foundations',
      `${server}deps[.]ts$`,
      [
        `${server}(lib|adapters)/`,
        `${server}(config|errors)[.]ts$`,
        `${server}db/(handle|knex|migrate)[.]ts$`,
        `${server}models/revocation[.]ts$`,
      ],
      'deps.ts imports config, errors, lib/, adapters/, what opens the database, and what `transaction` writes last.',
    ),
    only(
      'db-imports-the-foundations',
      `${server}db/`,
      [`${server}(db|lib)/`, `${server}(config|deps)[.]ts$`],
      'db/ imports knex, config and lib/; of deps what `transaction` and `rehearsal` hand on.',
    ),
    only(
      'adapters-import-the-foundations',
      `${server}adapters/`,
      [`${server}(adapters|lib)/`, `${server}(config|errors)[.]ts$`],
      'adapters/ imports npm packages, lib/, config and errors; no rules and no rows.',
    ),
    never(
      'adapters-come-with-deps',
      `${server}(?!(?:adapters|workers)/|(?:deps|program)[.]ts$)`,
      `${server}adapters/`,
      'deps.ts opens what talks to the world, and workers use it; everybody else is handed it and names its types alone.',
      { typesAllowed: true },
    ),
    only('mail-imports-lib', `${server}mail/`, [`${server}(mail|lib)/`], 'What mails say depends on lib/ alone.'),
    only(
      'foundations-import-lib',
      [`${server}lib/`, `${server}(errors|config)[.]ts$`],
      [`${server}lib/`, '^packages/server/package[.]json$', sdk('protocol')],
      'lib/, errors.ts and config.ts import npm packages, lib/ and what the service agrees on with the SDK; nothing else of ours.',
    ),

    only(
      'cli-speaks-http',
      '^packages/cli/',
      ['^packages/cli/', sdk('admin|inspect|protocol|testing')],
      'The command line knows the HTTP API, and the SDK where it tells what the API and its tokens mean.',
    ),
    ...cliRooms.map((room) =>
      only(
        `cli-${room}-imports-rooms-before-it`,
        `${cli}${room}/`,
        [`${cli}${room}/`, ...roomsBefore(room), ...cliFoundations],
        'A room of the command line imports those before it in `cliRooms`, and no command.',
      ),
    ),
    only(
      'cli-commands-import-no-command',
      `${cli}commands/(?!index[.]ts$)`,
      [`${cli}(${cliRooms.join('|')})/`, ...cliFoundations],
      'Under commands/ stand only commands; what several of them use is in a room beside it.',
    ),
    only('sdk-stands-alone', '^packages/sdk/', '^packages/sdk/', 'The SDK imports nothing of ours.'),
    only(
      'examples-use-the-published-sdk',
      '^examples/([^/]+)/',
      ['^examples/$1/', '^packages/sdk/src/'],
      'An example imports what a team outside could: the entry points of @gatehouse/sdk.',
    ),
    {
      name: 'sdk-by-name',
      comment: 'By the name of an entry point, not by a path into it: it is a package of its own.',
      severity: 'error',
      from: { path: '^packages/(cli|server)/' },
      to: { path: '^packages/sdk/', dependencyTypes: ['local'] },
    },
    {
      name: 'examples-use-entry-points',
      comment: 'By the package’s name, not by a path into it.',
      severity: 'error',
      from: { path: '^examples/' },
      to: { path: '^packages/', dependencyTypes: ['local'] },
    },
  ],
  options: {
    doNotFollow: { path: ['(^|/)node_modules/', '/dist/'] },
    exclude: {
      path: ['/dist/', '/fixtures/', '^test/bench/peers/', '^test/platforms/[.]work', '^examples/(next-app|hosted-next)/'],
    },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    combinedDependencies: true,
    detectProcessBuiltinModuleCalls: false,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js', '.cjs', '.d.ts'],
    },
  },
}
