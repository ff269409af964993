import { readFileSync } from 'node:fs'
import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf } from '../api/api-client.ts'
import { Failure, messageOf } from '../command-line/exit-codes.ts'

/** An image as text: `data:image/png;base64,…`. */
const imageUrl = /^data:(image\/[a-z]+);base64,([A-Za-z0-9+/]+={0,2})$/

/** The image in a file as a data URL. The service judges whether it can be a logo. Throws `file_unreadable`. */
export function readLogo(file: string): string {
  try {
    return asDataUrl(readFileSync(file))
  } catch (error) {
    throw new Failure('invalid', `cannot read the logo: ${messageOf(error)}`, { code: 'file_unreadable' })
  }
}

export function isImageUrl(text: string): boolean {
  return imageUrl.test(text)
}

function asDataUrl(image: Uint8Array): string {
  const bytes = Buffer.from(image)
  const isWebp = bytes.toString('latin1', 8, 12) === 'WEBP'
  const type = bytes[0] === 0xff ? 'image/jpeg' : isWebp ? 'image/webp' : 'image/png'
  return `data:${type};base64,${bytes.toString('base64')}`
}

/** The logo of an app as a data URL. */
export async function fetchLogo(api: Api, code: string): Promise<string> {
  const image: unknown = await bodyOf(
    api.GET('/api/v1/admin/apps/{appId}/logo', { params: { path: { appId: code } }, parseAs: 'blob' }),
  )
  if (!(image instanceof Uint8Array)) throw new Error('the service answered with no image')
  return asDataUrl(image)
}

/** Sets the logo of an app from a data URL, or removes it if there is none. Returns the app, if it was set. */
export async function writeLogo(api: Api, code: string, logo: string | null): Promise<components['schemas']['App'] | undefined> {
  const params = { path: { appId: code } }
  if (logo === null) {
    await api.DELETE('/api/v1/admin/apps/{appId}/logo', { params })
    return undefined
  }
  const [, type = '', text = ''] = imageUrl.exec(logo) ?? []
  // The type of the client has text for bytes.
  const body = Buffer.from(text, 'base64') as unknown as string
  const headers = { 'content-type': type }
  return bodyOf(api.PUT('/api/v1/admin/apps/{appId}/logo', { params, body, headers }))
}

/** A logo in a few words: its bytes are of no use to a reader. */
export function describeLogo(logo: string): string {
  const [, type, text = ''] = imageUrl.exec(logo) ?? []
  return type === undefined ? logo : `${type}, ${Buffer.byteLength(text, 'base64')} bytes`
}
