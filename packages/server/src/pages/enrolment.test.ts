import { expect, test } from 'vitest'
import { html } from '../lib/html.ts'
import { enrolmentView, recoveryCodesView } from './enrolment.ts'
import { textsIn } from './texts/texts-for.ts'

const pending = { secret: 'JBSWY3DPEHPK3PXP', url: 'otpauth://totp/shop:ada%40example.com?secret=JBSWY3DPEHPK3PXP&issuer=shop' }

test('the page of a new second factor shows the secret as a picture and in groups, and asks for a code', () => {
  const { body } = enrolmentView(textsIn('en'), { pending, form: { action: '/somewhere', hidden: { step: 'enrol' } } })
  expect(body.markup).toContain('<svg class="qr" role="img" aria-label="QR code that holds the secret below"')
  expect(body.markup).toContain('JBSW Y3DP EHPK 3PXP</textarea>')
  expect(body.markup).toContain('<form method="post" action="/somewhere">\n<input type="hidden" name="step" value="enrol">')
  expect(body.markup).toMatch(/<input id="code" name="code" type="text" autocomplete="one-time-code" required/)
  // The policy of the pages allows neither inline styles nor inline scripts.
  expect(body.markup).not.toMatch(/style=|<script|<style/)
})

test('the fault of a wrong code stands at its field', () => {
  const refusal = { status: 403, code: 'invalid_two_factor_code', faults: {}, focus: undefined, retryAfter: undefined } as const
  const { body } = enrolmentView(textsIn('de'), { pending, form: { action: '/somewhere', hidden: {} }, refusal })
  expect(body.markup).toContain('Der Code ist falsch oder wurde schon verwendet')
  expect(body.markup).toContain('aria-invalid="true" autofocus')
})

test('each recovery code stands on its own line', () => {
  const codes = ['3k7qm-x9d2t', 'abcde-fghjk']
  const { body } = recoveryCodesView(textsIn('en'), { codes, onward: html`<p>onward</p>` })
  expect(body.markup).toContain('rows="2"')
  expect(body.markup).toContain('3k7qm-x9d2t\nabcde-fghjk</textarea>')
})
