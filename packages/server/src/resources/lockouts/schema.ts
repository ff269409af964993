export { userParams } from '../../lib/fields.ts'
