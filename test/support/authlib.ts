// Authlib, an OpenID Connect client for Python, from Debian packages that are unpacked for the tests.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { librariesIn, unpackFromDebian } from './debian-packages.ts'

const program = `
import json, sys
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, JsonWebToken
from authlib.oidc.core import CodeIDToken
import requests

shown = json.loads(sys.stdin.readline())
found = requests.get(shown["discovery"]).json()
client = OAuth2Session(shown["client_id"], shown["client_secret"], scope=shown["scope"], redirect_uri=shown["redirect_uri"],
    token_endpoint_auth_method=shown["token_endpoint_auth_method"], code_challenge_method=shown["code_challenge_method"])
verifier = "v" * 50
url, state = client.create_authorization_url(found["authorization_endpoint"], nonce="a nonce", code_verifier=verifier)
print(json.dumps(url), flush=True)
answer = json.loads(sys.stdin.readline())
token = client.fetch_token(found["token_endpoint"], authorization_response=answer, state=state, code_verifier=verifier)
keys = JsonWebKey.import_key_set(requests.get(found["jwks_uri"]).json())
claims = JsonWebToken(["RS256"]).decode(token["id_token"], keys, claims_cls=CodeIDToken,
    claims_options={"iss": {"value": found["issuer"]}, "aud": {"value": shown["client_id"]}},
    claims_params={"nonce": "a nonce", "client_id": shown["client_id"], "access_token": token["access_token"]})
claims.validate()
told = client.get(found["userinfo_endpoint"]).json()
renewed = client.refresh_token(found["token_endpoint"], refresh_token=token["refresh_token"])
print(json.dumps({"claims": dict(claims), "userinfo": told, "renewed": renewed["token_type"]}), flush=True)
`

/**
 * Runs a whole sign-in with Authlib. `visit` gets the address that the browser is to open, and returns where the app was led to.
 */
export async function signInWithAuthlib<Answer>(
  configuration: Record<string, string>,
  visit: (url: string) => Promise<string>,
): Promise<Answer> {
  const root = await unpackFromDebian('authlib', ['python3-authlib', 'python3-requests', 'python3-minimal'], '12 MB')
  const own = join(root, 'usr/bin/python3.11')
  const child = spawn(existsSync(own) ? own : '/usr/bin/python3', ['-c', program], {
    env: {
      PATH: process.env.PATH ?? '',
      LD_LIBRARY_PATH: librariesIn(root).join(delimiter),
      PYTHONPATH: [join(root, 'usr/lib/python3/dist-packages'), join(root, 'usr/lib/python3.11')].join(delimiter),
      PYTHONDONTWRITEBYTECODE: '1',
      AUTHLIB_INSECURE_TRANSPORT: '1',
    },
    stdio: 'pipe',
  })
  let said = ''
  child.stderr.on('data', (text: Buffer) => {
    said += text
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`Authlib: ${said}`)
    return JSON.parse(value)
  }
  child.stdin.write(`${JSON.stringify(configuration)}\n`)
  const at = await visit(await next())
  child.stdin.end(`${JSON.stringify(at)}\n`)
  return (await next()) as Answer
}
