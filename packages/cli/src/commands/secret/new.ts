import { flag, text } from '../../command-line/options.ts'
import { commonFormats } from '../../command-line/settings.ts'
import { record } from '../../output/output.ts'
import { writeFile } from '../../terminal/write-file.ts'
import { makeSecret, makeWebhookSecret } from '../../tokens/make-secret.ts'
import { command } from '../../tools/command.ts'

/** A short form of docs/rotating-the-secret.md. */
const rotation = [
  'to rotate to it without a failed request, complete each step before the next:',
  '1. servers:   JWT_ACCESS_SECRET=old  JWT_ACCESS_SECRET_PREVIOUS=new',
  '2. consumers: JWT_ACCESS_SECRET=new  JWT_ACCESS_SECRET_PREVIOUS=old',
  '   then authctl secret rotate, until it says go on',
  '3. servers:   JWT_ACCESS_SECRET=new  JWT_ACCESS_SECRET_PREVIOUS=old',
  '   then wait for the lifetime of an access token (JWT_ACCESS_TTL_SECONDS)',
  '4. consumers: JWT_ACCESS_SECRET=new  JWT_ACCESS_SECRET_PREVIOUS unset',
  '5. servers:   JWT_ACCESS_SECRET=new  JWT_ACCESS_SECRET_PREVIOUS unset',
]

export const newSecret = command({
  path: 'secret new',
  options: {
    webhook: flag('A secret for a webhook instead: whsec_…'),
    out: text('FILE', 'New file for the secret, instead of the terminal'),
  },
  summary: 'Print a new random signing secret',
  description:
    'The secret is 48 random bytes in base64, printed without anything else unless -o json is given. The steps of a rotation go to ' +
    'stderr. With --out the secret goes only to that file, which only you can read and which must not exist yet. Nothing is sent. ' +
    'With --webhook it is whsec_ and 32 random bytes: set it in the webhooks of the app, and in the receiver.',
  examples: ['secret new --out secret.txt', 'secret new --json', 'secret new --webhook'],
  // Bare in a pipe too: users redirect the output to a file.
  formats: { all: commonFormats, terminal: 'table', pipe: 'table' },
  async run({ io, settings }, { webhook, out }) {
    const { secret, ...more } = webhook ? { secret: await makeWebhookSecret() } : await makeSecret()
    if ('kid' in more) for (const line of [...rotation, `its key id is ${more.kid}`]) io.note(line)
    if (out !== undefined) {
      if (settings.dryRun) return record({ file: out })
      // Never replaces a file: it may hold the secret that signs right now.
      writeFile(out, `${secret}\n`, { isPrivate: true, replaces: false })
      return record({ file: out, ...more }, 'written')
    }
    return { kind: 'report', value: { secret, ...more }, parts: [secret] }
  },
})
