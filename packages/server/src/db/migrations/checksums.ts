/** Of the code of each migration, as it was released. The database keeps them too. No line here ever changes. */
export const checksums: Readonly<Record<string, string>> = {
  '0001-initial': '46b742457c598c19a97d817ece3d226c13e3908043f4696ebbf9b44d811855c4',
  '0002-restores-and-deleted-keys': '9695b704187ef3e339f36d3dc06ea0c78bdcef64e6e4e549b3b6692bd2771deb',
  '0003-sealed-audit': '66067b2b371a39ba682aece37ead0239524a2a9c71433ee1fc126247c09db0c3',
  '0004-unsealed-audit-events': '22f50678858af0414cad674ea9d0debc7f49b44d112d7e4abc57dd9132ac3a87',
  '0005-proven-accounts': 'a042a40cc5ecea2a71796dcb0d16ca8c9b23c0712320258a4407ccd71d6df078',
  '0006-admin-grants-due': '8679038e16928ce837fec4f95a804d76ddbd7b37c25c53a81ef31a2c5232fcf1',
  '0007-auto-grant-policy': 'eb8841e265ef267eb6a99228aeae9d4229695c6210342f7f1c783962f260f9dd',
  '0008-revocation-horizon': 'e2d11d9a603419c7c358a2d68adaa075e316a13a7e1f1e1e7f226a508a03243d',
  '0009-browser-sign-in': '8b651e19b44c596a711451d3befc2dab3f2233394069b6b8078146053199476a',
  '0010-page-mails-and-providers': 'bf55145c5af17309f5b7b7da33269f10a0551c6983e66c370b135f40aa1a73f7',
  '0011-revocations-by-transaction': '71d224b92616504723b210693ef78fe256da082edab39226cb7e6bd679d59058',
  '0012-user-changes': '0fdc9f6952194eab60ac8618c7cdb5c021458c7825aa2cd77aee234314b61020',
  '0013-brands': '7ab0da4a0644f3db2409c3b1d0ee66763f511979839ccf2b9bc90922fa8816a3',
  '0014-passkeys': '3b10309f525c9c48adb98641764475b19e43cfd33837facf48e2bc59c348f4bd',
  '0015-user-locale': '6938c0001f8622dcb576a00716703371a1eda7ad5f22baaab9cd5e8f484f2192',
  '0016-trusted-browsers': '811336dbfb9c4f4ebbe99f4c8730ca656dec9b4ab431c12a00b8a688536e8156',
}
