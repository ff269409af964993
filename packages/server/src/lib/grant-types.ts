/** Of RFC 8628. A code that a device exchanges has it in place of a redirect URL. */
export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'
