/**
 * Taken from `process` instead of imported. An import reads every export of a built-in module, and one export of `node:http`
 * loads all of fetch, which takes a tenth of a second and 13 MB.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')
