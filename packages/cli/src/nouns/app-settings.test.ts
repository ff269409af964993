import { expect, test } from 'vitest'
import { appBody } from './app-settings.ts'

test('what was not given is left out, what was given empty is sent', () => {
  expect(appBody({ name: 'Shop', link: [], description: '', autoGrant: false, signUp: undefined })).toEqual({
    name: 'Shop',
    linked_app_codes: [],
    description: '',
    auto_grant_on_signup: false,
  })
})
