import { expect, test } from 'vitest'
import { appBody, appFlags } from './app-settings.ts'

test('the body leaves out flags that were not given, and sends those that were given empty', () => {
  expect(appBody({ name: 'Shop', link: [], description: '', autoGrant: false, signUp: undefined })).toEqual({
    name: 'Shop',
    linked_app_codes: [],
    description: '',
    auto_grant_on_signup: false,
  })
})

test('the brand of an app is one member of the body, and each of its members is a flag', () => {
  expect(appBody({ accent: '#2f6fde', language: '' })).toEqual({ brand: { accent_color: '#2f6fde', default_language: '' } })
  expect(appFlags({ brand: { accent_color: '#2f6fde', from_name: null } })).toEqual(['--accent', '#2f6fde', '--from-name', ''])
})
