/** Of the code of each migration, as it was released. The database keeps them too. No line here ever changes. */
export const checksums: Readonly<Record<string, string>> = {
  '0001-initial': '46b742457c598c19a97d817ece3d226c13e3908043f4696ebbf9b44d811855c4',
  '0002-restores-and-deleted-keys': '9695b704187ef3e339f36d3dc06ea0c78bdcef64e6e4e549b3b6692bd2771deb',
}
