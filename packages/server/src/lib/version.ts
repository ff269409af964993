import manifest from '../../package.json' with { type: 'json' }

/** The version of this server, as `/health` and the OpenAPI document name it. */
export const version: string = manifest.version
