import { defineConfig } from 'vite'

// Serves the backend under the origin of the page. That needs no CORS, and the token goes to no other origin.
const api = { '/api': { target: process.env.API_URL ?? 'http://127.0.0.1:3000', rewrite: (path) => path.slice('/api'.length) } }

export default defineConfig({
  server: { host: '127.0.0.1', port: 5173, proxy: api },
  preview: { host: '127.0.0.1', port: 5173, proxy: api },
  build: { target: 'es2022' },
})
