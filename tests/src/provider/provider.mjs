// An OpenID Connect provider for one test: `node provider.mjs FOLDER`, where FOLDER has the node_modules. It prints its issuer.
//
// Clients get access tokens as JWTs if they name a resource below https://api.example, whose last segment is the
// algorithm. Accounts log in under their names in `accounts`, with any password. POST /rotate replaces the keys.
import { createPrivateKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const { Provider } = await import(pathToFileURL(`${process.argv[2]}/node_modules/oidc-provider/lib/index.js`).href);

const AUDIENCE = 'https://api.example';
const accounts = {
  ada: { role: 'admin', tenant: 'acme', teamIds: [1, 2], realm_access: { roles: ['admin'] } },
  bo: { role: 'editor', tenant: 'acme', teamIds: [2], realm_access: { roles: ['editor'] } },
};
const services = { reports: { role: 'reader', teamIds: [] } };

// Node 20 can hang if it collects garbage while it exports a key that it has generated. That of a PEM text is another one.
const privateKeyEncoding = { format: 'pem', type: 'pkcs8' };

function key(alg) {
  const { privateKey } = {
    RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048, privateKeyEncoding }),
    ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256', privateKeyEncoding }),
    EdDSA: () => generateKeyPairSync('ed25519', { privateKeyEncoding }),
  }[alg]();
  return { ...createPrivateKey(privateKey).export({ format: 'jwk' }), kid: randomUUID(), alg, use: 'sig' };
}

function provider(issuer) {
  const made = new Provider(issuer, {
    jwks: { keys: ['RS256', 'ES256', 'EdDSA'].map(key) },
    cookies: { keys: [randomUUID()] },
    clients: [
      {
        client_id: 'reports',
        client_secret: 'a secret of the reports',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: 'page',
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        redirect_uris: ['http://127.0.0.1/callback', 'http://127.0.0.1/docs'],
        response_types: ['code'],
      },
    ],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => `${AUDIENCE}/RS256`,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          scope: 'read',
          audience: AUDIENCE,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 600,
          jwt: { sign: { alg: resource.slice(resource.lastIndexOf('/') + 1) } },
        }),
      },
    },
    pkce: { required: () => true },
    extraTokenClaims: (_, token) => (token.accountId ? accounts[token.accountId] : services[token.clientId]),
    findAccount: (_, id) => accounts[id] && { accountId: id, claims: () => ({ sub: id }) },
  });
  return made.callback();
}

let handle;
const server = createServer((request, response) => {
  if (request.method === 'POST' && request.url === '/rotate') {
    handle = provider(issuer);
    response.end();
  } else {
    handle(request, response);
  }
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const issuer = `http://127.0.0.1:${server.address().port}`;
handle = provider(issuer);
console.log(issuer);
