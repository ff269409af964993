import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { errorOf, gatehouseFixture, parsed } from './sandbox.ts'

const { signedInOnce: signedIn } = gatehouseFixture()

test('mail preview shows a mail as text and writes its HTML part; mail test sends one', async () => {
  const here = await signedIn()
  const { authctl, folder } = here
  await authctl('app create shop --name Shop --support-email help@shop.example.com')
  const shown = await authctl('mail preview reset_password --app shop --language en --out mail.html')
  expect(shown.exit).toBe(0)
  expect(readFileSync(join(folder, 'mail.html'), 'utf8')).toContain('Choose a new password')
  const preview = parsed(await authctl('mail preview password_changed --app shop --json'))
  expect(preview).toMatchObject({
    from: 'Shop',
    reply_to: 'help@shop.example.com',
    subject: 'Your password for Shop was changed',
  })
  const onScreen = (await here.terminal('mail preview password_changed --app shop --language en').ended()).screen
  expect(onScreen.replaceAll('\r', '')).toContain('Subject:  Your password for Shop was changed\n\nHello,\n\nThe password of')
  expect((await authctl('mail preview nothing --app shop')).exit).toBe(3)

  expect(parsed(await authctl('mail test --to me@example.com --app shop --language en --json'))).toMatchObject({
    outcome: 'sent',
  })
  expect(errorOf(await authctl('mail test --to nobody --app shop --json')).message).toContain('e-mail address')
})
