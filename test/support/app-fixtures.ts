/** Settings that production mode starts with, without a warning. The bcrypt cost is the lowest that it accepts. */
export const productionSettings = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://login.example.com',
  SMTP_URL: 'smtp://localhost:2525',
  MAIL_FROM: 'no-reply@example.com',
  AUTH_TRUST_PROXY: '1',
  AUTH_BCRYPT_COST: '10',
  JWT_ACCESS_SECRET: 'RSVFpkNKvX3YQx6TN9GhMfbLdWcZ8t2w',
  AUTH_ENCRYPTION_KEY: Buffer.from('Qm7LxD4sVhT9pKzWc2RnYbGfJ6uEaXtM').toString('base64'),
}

export const whsec = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
