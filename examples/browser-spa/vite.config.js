import { defineConfig } from 'vite'

// The backend of the page, under the page's own origin: no CORS, and the token goes nowhere else.
const api = { '/api': { target: process.env.API_URL ?? 'http://127.0.0.1:3000', rewrite: (path) => path.slice('/api'.length) } }

export default defineConfig({
  server: { host: '127.0.0.1', port: 5173, proxy: api },
  preview: { host: '127.0.0.1', port: 5173, proxy: api },
  build: { target: 'es2022' },
})
