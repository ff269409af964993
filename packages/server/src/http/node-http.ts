/**
 * Node's own, not imported: an import reads every export of a built-in module, and `node:http` loads all of fetch for one of them,
 * which is a tenth of a second and 13 MB.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')
