"""python3 -m unittest, in this folder. With PyJWT installed, the gate is tested with it as well."""
import json, re, threading, unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
import gate
from open_token import Refused, encode, hmac_sha256, kid_of, open_token

try:
    import open_token_pyjwt
except ModuleNotFoundError:
    open_token_pyjwt = None

openers = {'standard library': open_token} | ({'PyJWT': open_token_pyjwt.open_token} if open_token_pyjwt else {})
page = (Path(__file__).parents[2] / 'docs/guard-a-backend/tokens.md').read_text()
vectors = json.loads(re.search(r'```json\n(.*?)```', page, re.S)[1])
env = {
    'SERVICE_AUTH_URL': 'http://127.0.0.1:9/api/v1',
    'SERVICE_APP_CODE': vectors['app_code'],
    'SERVICE_APP_ID': vectors['app_id'],
    'JWT_ACCESS_SECRET': vectors['secret'],
    'JWT_ACCESS_SECRET_PREVIOUS': vectors['secret_previous'],
}
good = {
    'app_id': vectors['app_id'], 'app_code': 'billing', 'aud': 'billing', 'iss': 'gatehouse', 'uid': 'u-1', 'sid': 's-1', 'tv': 3,
    'iat': vectors['now'], 'exp': vectors['now'] + 900,
}

def build(opener=open_token, **changes):
    return gate.Gate({**env, **changes}, opener, lambda: vectors['now'])

def sign(secret=vectors['secret'], header={'alg': 'HS256', 'typ': 'JWT'}, **claims):
    signed = '.'.join(encode(json.dumps(part).encode()) for part in (header, {**good, **claims}))
    return f'{signed}.{encode(hmac_sha256(secret.encode(), signed.encode()))}'

def code_of(verifier, token):
    try:
        verifier.verify(token)
        return 'ok'
    except Refused as refused:
        return str(refused)

class Tokens(unittest.TestCase):
    def test_each_vector_of_the_page_gets_its_result(self):
        self.assertEqual([kid_of(s) for s in build().secrets], [vectors['kid'], vectors['kid_previous']])
        for vector in vectors['tokens']:
            with self.subTest(vector['name']):
                self.assertEqual(code_of(build(), vector['token']), vector['result'])

    @unittest.skipIf(open_token_pyjwt is None, 'PyJWT is not installed')
    def test_pyjwt_accepts_and_refuses_the_same_tokens(self):
        for vector in vectors['tokens']:
            with self.subTest(vector['name']):
                taken = code_of(build(openers['PyJWT']), vector['token'])
                self.assertEqual(taken == 'ok', vector['result'] == 'ok', taken)

    def test_a_hostile_token_is_refused(self):
        hostile = {
            'too long': 'a' * 16385,
            'blanks': f' {sign()}',
            'letters that are no ASCII': f'{sign()}\u00e9',
            'nested deeper than Python reads': encode(b'[' * 12000) + '.e30.',
            'of nobody': sign(uid=''),
            'a version that is true': sign(tv=True),
            'roles in a text': sign(roles='system_admin'),
            'half an organization': sign(org_id='o-1'),
            'no app': sign(app_id=None),
            'another app with this code': sign(app_id='another'),
            'an assertion of a consumer': sign(header={'alg': 'HS256', 'typ': 'consumer+jwt'}),
        }
        for opener in openers.values():
            for secret in (vectors['secret'], vectors['secret_previous']):
                self.assertEqual(code_of(build(opener), sign(secret)), 'ok')
            for name, token in hostile.items():
                with self.subTest(name):
                    self.assertNotEqual(code_of(build(opener), token), 'ok')

class Feed(unittest.TestCase):
    """Against a service that says what the page shows: two pages, then a stream."""

    def setUp(self):
        revoked = lambda cursor, **item: {'cursor': cursor, 'user_id': None, 'app_id': None, 'session_id': None, 'min_tv': None, **item}
        self.app_id, self.asked, feed = vectors['app_id'], [], self
        pages = [
            {'items': [revoked(1, user_id='u-2', min_tv=4)], 'cursor': 1, 'has_more': True, 'reset': False},
            {'items': [revoked(2, user_id='u-3', min_tv=9, app_id='another')], 'cursor': 2, 'has_more': False, 'reset': False},
        ]
        self.stream = [revoked(3, session_id='s-4', user_id='u-4'), revoked(4, min_iat=vectors['now'] + 1), {'cursor': 5, 'kind': 'new'}]
        self.go, self.told = threading.Event(), threading.Event()

        class Service(BaseHTTPRequestHandler):
            def do_GET(self):
                feed.asked.append((self.path, self.headers['Last-Event-ID'], self.headers['Authorization']))
                self.send_response(200)
                self.send_header('X-App-Id', feed.app_id)
                self.end_headers()
                if '/stream' not in self.path:
                    return self.wfile.write(json.dumps(pages.pop(0) if pages else pages_end).encode())
                for item in feed.stream:
                    feed.go.wait(10)
                    feed.go.clear()
                    self.wfile.write(f'id: {item["cursor"]}\ndata: {json.dumps(item)}\n\n: alive\n\n'.encode())
                    self.wfile.flush()
                feed.told.set()

            def log_message(self, *_):
                pass

        pages_end = {'items': [], 'cursor': 5, 'has_more': False, 'reset': False}
        self.server = ThreadingHTTPServer(('127.0.0.1', 0), Service)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f'http://127.0.0.1:{self.server.server_port}'

    def test_only_a_revoked_token_is_refused(self):
        guard = build(SERVICE_AUTH_URL=self.url, SERVICE_APP_ID='')
        guard.start()
        self.assertTrue(guard.ready.wait(10))
        self.assertEqual(guard.app_id, vectors['app_id'])
        self.assertEqual(code_of(guard, sign(app_id='another')), 'APP_MISMATCH')
        self.assertEqual(code_of(guard, sign(uid='u-2', tv=3)), 'TOKEN_REVOKED')
        self.assertEqual(code_of(guard, sign(uid='u-2', tv=4)), 'ok')
        self.assertEqual(code_of(guard, sign(uid='u-3')), 'ok')
        self.assertEqual(code_of(guard, sign(uid='u-4', sid='s-4', tv=99)), 'ok')
        self.follow_to(guard, 3)
        self.assertEqual(code_of(guard, sign(uid='u-4', sid='s-4', tv=99)), 'TOKEN_REVOKED')
        self.assertEqual(code_of(guard, sign(uid='u-4', sid='s-5')), 'ok')
        self.follow_to(guard, 4)
        self.assertEqual(code_of(guard, sign()), 'TOKEN_REVOKED')
        self.assertEqual(code_of(guard, sign(iat=vectors['now'] + 1)), 'ok')
        self.follow_to(guard, 5)
        paths = [(path, last) for path, last, _ in self.asked[:3]]
        stream = '/api/v1/revocations/stream?form=2'
        self.assertEqual(paths, [('/api/v1/revocations?form=2', None), ('/api/v1/revocations?form=2&since=1', None), (stream, '2')])

    def follow_to(self, guard, cursor):
        self.go.set()
        for _ in range(10_000):
            if guard.cursor >= cursor:
                return
            threading.Event().wait(0.001)
        self.fail(f'it never heard of {cursor}')

    def test_the_feed_of_another_app_is_refused(self):
        guard = build(SERVICE_AUTH_URL=self.url)
        self.app_id = 'another'
        with self.assertRaisesRegex(ValueError, 'another app'):
            guard.catch_up()
        self.assertEqual((guard.floors, guard.app_id), ({}, vectors['app_id']))

    def test_the_assertion_has_its_own_key_and_is_not_a_token(self):
        guard = build(SERVICE_AUTH_URL=self.url)
        guard.catch_up()
        header, claims, signature = self.asked[0][2].removeprefix('Bearer ').split('.')
        key = hmac_sha256(hmac_sha256(bytes(32), env['JWT_ACCESS_SECRET'].encode()), b'gatehouse-consumer\x01')
        self.assertEqual(signature, encode(hmac_sha256(key, f'{header}.{claims}'.encode())))
        self.assertNotEqual(code_of(guard, f'{header}.{claims}.{signature}'), 'ok')

if __name__ == '__main__':
    unittest.main()
