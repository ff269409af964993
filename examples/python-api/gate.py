"""Takes the tokens of one app, and refuses what was revoked. docs/guard-a-backend/sdk-other-languages.md goes through it."""
import calendar, json, logging, os, random, threading, time, urllib.request
from http.client import HTTPException
from open_token import Refused, encode, hmac_sha256, kid_of, open_token, whole

class Gate:
    def __init__(self, env=os.environ, opener=open_token, now=time.time):
        self.url = env['SERVICE_AUTH_URL'].rstrip('/').removesuffix('/api/v1') + '/api/v1/revocations'
        self.app_code, self.app_id = env['SERVICE_APP_CODE'], env.get('SERVICE_APP_ID') or None
        self.secrets = [s for s in (env['JWT_ACCESS_SECRET'], env.get('JWT_ACCESS_SECRET_PREVIOUS')) if s]
        self.issuer, self.opener, self.now = env.get('JWT_ISSUER') or 'gatehouse', opener, now
        self.floors, self.forgotten, self.cursor, self.ready = {}, 0, None, threading.Event()

    def verify(self, token):
        """The claims of a good token; raises Refused."""
        claims = self.opener(token, self.secrets, self.app_code, self.issuer, self.now)
        check_types(claims)
        app_id = claims.get('app_id')
        # Users hand a token to each app that they use. Without this, any of those apps opens this one.
        if claims.get('app_code') != self.app_code or not isinstance(app_id, str) or app_id != (self.app_id or app_id) or not app_id:
            raise Refused('APP_MISMATCH')
        version = max(self.floor('user', claims['uid']), self.floor('session', claims.get('sid')))
        if claims['tv'] < version or claims['iat'] < self.floor('app') or claims['iat'] <= self.forgotten:
            raise Refused('TOKEN_REVOKED')
        return claims

    def floor(self, *key):
        return self.floors.get(key, (0,))[0]

    def learn(self, item):
        if item.get('app_id') not in (None, self.app_id):
            return
        if item.get('session_id'):
            key, floor = ('session', item['session_id']), 2**53  # it has ended whole
        elif item.get('user_id'):
            key, floor = ('user', item['user_id']), item.get('min_tv')
        else:
            key, floor = ('app',), item.get('min_iat')
        if whole(floor):  # further kinds may come
            at = calendar.timegm(time.strptime(item['at'][:19], '%Y-%m-%dT%H:%M:%S')) if 'at' in item else 0
            self.floors[key] = (max(floor, self.floor(*key)), time.monotonic(), min(at, self.now()))

    def forget(self):
        """Drops what concerns no living token. If the clock is set back, the tokens of that time stay dead."""
        for key, (_, heard, at) in list(self.floors.items()):
            if heard <= time.monotonic() - 3660:
                self.forgotten = max(self.forgotten, at)
                del self.floors[key]

    def start(self):
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self, wait=0.2):
        """Hears of revocations for as long as the program runs. While the service is away, tokens go on being verified."""
        while True:
            try:
                self.catch_up()
                with self.ask('/stream?form=2', {'Last-Event-ID': str(self.cursor)}) as stream:
                    for line in stream:
                        wait = 0.2
                        if line.startswith(b'data:'):
                            item = json.loads(line[5:])
                            self.learn(item)
                            self.cursor = item['cursor']
                        elif line.startswith(b':'):  # a sign of life
                            self.forget()
            except (OSError, ValueError, KeyError, HTTPException) as error:
                logging.warning('no revocations: %s', error)
            time.sleep(random.uniform(0, wait))
            wait = min(wait * 2, 5)

    def catch_up(self):
        has_more, reached = True, -1
        while has_more:
            with self.ask('?form=2' + ('' if self.cursor is None else f'&since={self.cursor}')) as reply:
                page = json.load(reply)
            if page['reset']:
                self.floors = {}
            for item in page['items']:
                self.learn(item)
            self.cursor, has_more = page['cursor'], page['has_more']
            if has_more and self.cursor <= reached:
                raise ValueError('the cursor does not advance')
            reached = self.cursor
        self.ready.set()

    def ask(self, path, headers={}):
        request = urllib.request.Request(self.url + path, headers={'Authorization': f'Bearer {self.assertion()}', **headers})
        reply = urllib.request.urlopen(request, timeout=20)
        owner = reply.headers['X-App-Id']
        self.app_id = self.app_id or owner  # the first one holds for the life of the process
        if owner not in (None, self.app_id):
            raise ValueError(f'{self.app_code} is the code of another app now')
        return reply

    def assertion(self):
        """Says who asks, and which secrets it accepts. It opens nothing but the feed."""
        key = hmac_sha256(hmac_sha256(bytes(32), self.secrets[0].encode()), b'gatehouse-consumer\1')
        iat = int(self.now()) - 30
        claims = {'sub': self.app_code, 'iat': iat, 'exp': iat + 60, 'kids': [kid_of(s) for s in self.secrets]}
        signed = '.'.join(encode(json.dumps(part).encode()) for part in ({'alg': 'HS256', 'typ': 'consumer+jwt'}, claims))
        return f'{signed}.{encode(hmac_sha256(key, signed.encode()))}'

def check_types(claims):
    uid, tv, lists = claims.get('uid'), claims.get('tv'), (claims.get('roles', []), claims.get('permissions', []))
    texts = [claims.get(name, '-') for name in ('sid', 'jti', 'email', 'namespace', 'org_id', 'org_slug')]
    is_list = lambda value: isinstance(value, list) and all(isinstance(entry, str) for entry in value)
    # Looking for a permission in a text would find parts of words; half an organization would pass for none.
    if not (uid and isinstance(uid, str) and whole(tv) and tv >= 0 and all(map(is_list, lists))):
        raise Refused('TOKEN_CLAIMS')
    if not all(isinstance(text, str) and text for text in texts) or ('org_id' in claims) != ('org_slug' in claims):
        raise Refused('TOKEN_CLAIMS')
