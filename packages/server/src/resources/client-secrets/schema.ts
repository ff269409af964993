import { z } from 'zod'
import { appParams, id, page, pageQuery, shownOnce, timestamp } from '../../lib/fields.ts'

export { appParams }

export const clientSecretParams = appParams.extend({ secretId: id })

export const listClientSecretsQuery = z.strictObject(pageQuery)

export const clientSecretRecord = z
  .object({ id, created_at: timestamp, last_used_at: timestamp.nullable() })
  .meta({ id: 'ClientSecret', description: 'A client secret of an app, without the secret itself' })

export const clientSecretPage = page(clientSecretRecord)

export const createdClientSecret = z
  .object({ id, secret: shownOnce('The secret, 256 random bits after `gcs_`. It is not shown again') })
  .meta({ id: 'CreatedClientSecret' })
