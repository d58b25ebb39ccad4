/** Keys that the reference daemon derives from three master derivation keys. */
export const derivationVectors = [
  {
    masterDerivationKey: '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
    keys: [
      {
        index: 0n,
        seed: '4a43fd24ff56a2a3ca868a8ab9e3eaec4ed82e0d6ce03623bb6d9d50309e983c',
        address: 'N7WEXMRM7VD3XAQZ4XKQG3L23UQWEHEVLYCNELSBYOY2IUC6ZN73VDSIOA',
      },
      {
        index: 1n,
        seed: '724db5dd2b5bff822d5e968fc401fdf80f778cf3a6812f2adc9629599b31b559',
        address: 'RARAQGGTYYIAKPP7M44M2ITTE2AXASJD5VIMPRQDU5VJTK3XAA62OLW7IM',
      },
      {
        index: 2n,
        seed: '2fa706a61643be89ffb83b7f4b0a417b8011786a597222d2ac5a85411ba5136d',
        address: 'AY3EXNCEATTJ3KUPVEVDFUYMO6CT3R3S6QQSVIGTXKCFG26L4WGLJU5PF4',
      },
      {
        index: 3n,
        seed: '7260fb9efe1e4c909f57374a4c6a70ee6c4e36efc52348190b5cbe7d8cfe54b8',
        address: 'WKDETHNVXAMUKONA73KFXKJB6ZNNUDZ3OH44K55BAUXEWPLC3ZEWHJEDG4',
      },
      {
        index: 4n,
        seed: '7d46ad5f419db021a904d5596e2532591fe3b9e227f5df2ac790d3deb7efa176',
        address: 'ZZ325EKXFQI52WMZXNP2RTENQIVVWAY2Z57EBNRCJBX6PJDXHJ7IBWLCR4',
      },
      {
        index: 5n,
        seed: '1d0d61e8988ff04b09ef8fec0eb39b5cb647fdc2fe38819bf601a8dae83c754b',
        address: 'LKPAWREFX5J7NR2RE3TH7T7W5OZ7V6TV6CN6S3BXLMQTU7YIAV2ORUOWNA',
      },
      {
        index: 9n,
        seed: '95921dc7f01e64f042dc852c651c7b4da31bf390cd0b5a4291436c5d56151f11',
        address: 'UVMXFEAFBRWAJP4AYK47WNWPKHUK7RDPXTEJM7QGXQQ2XP2RQJ63WL5Y3E',
      },
      {
        index: 10n,
        seed: '71dc042553cdaa69ca594fca16b681f05c2f7b17a0ced25197d833e861cac68c',
        address: 'UF6LAEXODSNQTANAHQSD7ENBDYCUNESMZKANRDN5JS4HPQ2VSGRST4FISU',
      },
      {
        index: 11n,
        seed: '77d67dff8a9a84fa542610b554731edea3747c5a53e62089708d7cebcd50a6e0',
        address: 'QZKQHLR636Y7IZPSK5WT3VL7KCZSB64RVAJXOMV6RFN2SJBQRH3IMSQ7C4',
      },
      {
        index: 100n,
        seed: '341f8b129118099a99b0238593e79756bf2a968bfc8e7a9afba7dc0a44b6b7ff',
        address: 'UIQDWC27LKXVXSEGZQN3ENINOQ3ABPWOV2JZV5GZFULCOI35U4GYX63CFA',
      },
      {
        index: 1000n,
        seed: '00686cc36b91e910308563bcc330bc21f5e64211549ee23a1d50b147341afdcf',
        address: 'WV27HPRDXFO3GQVZFNKKWLHJLQ57MAQNCCFIZMTT6J2EBEGGEQWZHPVYTM',
      },
      {
        index: 4294967296n,
        seed: 'b67e897bf1675700aa685d49c0ff8cb5a8748451cbfebdbc17242ef1b9867cf5',
        address: 'FL2XJQKU7XKJXCNMKRFMHKDZ3D7CO3RDUCOD5UZF3ZWSFH7KI722JKOT7U',
      },
      {
        index: 9223372036854775807n,
        seed: '04524488478c8e3364cdaa672b2523f038a1acb944200bd987e08e99b3f82d99',
        address: 'QG5JOICX4YHE2476ZVKGO66STOMLQ5RRO4SGZF4GAWCYANHZ3YFHCWPF4I',
      },
    ],
  },
  {
    masterDerivationKey: 'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
    keys: [
      {
        index: 0n,
        seed: '667e17444128c8ca849acd7ffb4969fa06aed28df516b9cde0318005be0d7638',
        address: 'ZAKP42B6OJNC46IGBKFPL2SVBHQAJZGQ5PQNWINZNQJT75CAHSU4U6KNBE',
      },
      {
        index: 1n,
        seed: 'cb88fb09b5e43c34d02618a5d93a66a40cb7aa038fe95c37d3c3f1b359771cfa',
        address: 'JT46UU3VOEPDZQTIWDACTX5CE7KZB7O5KWLQNXEQQUNIUXSSYW56AJCJBA',
      },
      {
        index: 2n,
        seed: '0171f3108388897fb5ff9f24f09c04562880389014c1da8b4aee65113828c208',
        address: '4CREFCSOI572525INWGVYOJRMYUYUA7E2EQMPVUNZPUNDJHV5CDV3MDXKM',
      },
      {
        index: 3n,
        seed: '6cc37fe3f5072b834a3094aa316655ec970cdb6ff76167c8e9a3860169c75478',
        address: 'IWW6SPKTZJ6UFGJ2UELJVVCLFFLFW4UUC6VKZPUZSIIGFHKHDOPXLGGZW4',
      },
      {
        index: 4n,
        seed: '104d0a6b7ac93068edef861309e7ec05a09c978fef1f135ecb210e20234316e7',
        address: 'JNTXYYG7SQECEJ4AUM5YERM2B444XA7ZD3AUQ6VFOZBJWC4K2XHDRWVU4E',
      },
      {
        index: 5n,
        seed: 'd4bce226d41d16d52b331ece6d7436f3c9a818e4d56058c48806ade8cfaf7787',
        address: '45ZN4XKJU2NGU76N57JRHLLULJIFOG4BVKBLWK2OZYCPQNLDOIHMH7SJJQ',
      },
      {
        index: 9n,
        seed: '8f448f40bb049321d2a4c3731eba5d8dde097e8002c31c408dcd46ab011a6f32',
        address: 'PV7AU4UGQHIBQ44WVUNYCVFF7TMBTZZ5KWQKGIMH27WCDEOAO3VDSBBO4U',
      },
      {
        index: 10n,
        seed: '071b078ca3988f457eebec7874516a9f203555ec307ca4e946f913f7f79d6ed9',
        address: '5N5QNLIN5NMF2EWPZT3PUTNMTWNIUXZPJOUNXDVGPAMXRJNOQPGBHMQ67Q',
      },
      {
        index: 11n,
        seed: 'ddcc3f3a4ea93b70e528dc393711fac722914b241aac4708a8c4d7477777921a',
        address: '73GX7UN5SMOQMGNHS7HZK35ZS2LIIOMUBDJ6R564CFMHQRFAN742SY5IDY',
      },
      {
        index: 100n,
        seed: '12b8981cfa42d578b034ca8046a4032732d961a310de61d72f0b76a6cd197e9f',
        address: 'ZJUWCU6IZG7VQSCAJED5E4V2MXIIZITPKSLK4J3YGVBZRIOFJWBR2V5VLY',
      },
      {
        index: 1000n,
        seed: '11eaf3e5c8bbb7ab9a1e2b23d04085a0ab98a80be51e9384e61a2e531ac8caf6',
        address: 'MFTQS33U67LEXYGUWL52SR2DXYXVVM2ERHG2D6GSA6GTXZ7LPUHJP7JGSM',
      },
      {
        index: 4294967296n,
        seed: '6281c9087e5c3676adce180be378bc68b76729a55fd09c1dd2e609869d4af0ee',
        address: '36MWN5B5NWJIT6TC7CKJ2GIISTBAMBQXW25HFPAKFZP2R3SHBLKBYPZT3U',
      },
      {
        index: 9223372036854775807n,
        seed: '9d5e7b61f40f2712b3d046bdcf09b3572f24f165aa00e8225e27283394576fb5',
        address: 'P6LN2CY5KXQSFVJKLECU5SOXAQSUW65ERKLFDNKLWGHFB567LVZAD2K5GY',
      },
    ],
  },
  {
    masterDerivationKey: '0000000000000000000000000000000000000000000000000000000000000001',
    keys: [
      {
        index: 0n,
        seed: '69b879014d968e0874fb3581f4d0e387716a33414860ef9e32f248c21db4c2af',
        address: 'Z5BS2ROW6RLPMJUBLYCIORVINAWHVP4K4PWD5YKG6AU4IUHOAUJHFGH5A4',
      },
      {
        index: 1n,
        seed: '5d6f0cc0fb94d0493a05754534638e91f28f41fd05e70b745d67fc5a769e6b98',
        address: '2AFKMNNCUTNCSHDTOBYI72U2GZRQVDWFEI5OA3QYIJOLNZURHKV4JTOQDE',
      },
      {
        index: 2n,
        seed: '8c03132fdde16f3b55352bf1ea3912c1ba6b8237641f36d75a7a42da269773e4',
        address: 'ZXKMG7UD3TEGOHK3FH3D63MFVN4LHIORQL7KMN4KEBXZ6FTUVRV65A45ZQ',
      },
      {
        index: 3n,
        seed: 'b6d5206aa0082eb71e5129903f683b1dc27af5875f17e84d5eaedc9d24bd8877',
        address: 'S3G4KFBHA6UCW4LAKH3PGJMBLAOK75M5U7U77VWBI72XEJQBFR7NTA6EBY',
      },
      {
        index: 4n,
        seed: '0ba16c9ff8ed0c8ccc5eb2e9a447bec2eafd305ffb159eec643e711d4f3863f1',
        address: '4BF45I5IWJOJD53ASUIM7YKI27QXDAZP42YGOTG3TD54O54PPYRISIQ2GU',
      },
      {
        index: 5n,
        seed: 'f604ce0b0a093cc6777fe21df9920ccd4aa643d16c15ba2630bec24594d25b55',
        address: '5F7NS4FE5ZSO43YMOXRG3A3YUV6MIBEF6KMWUUPNMHUYQO2EERXLVLNJT4',
      },
      {
        index: 9n,
        seed: '06bd24a796586126e9be2f977a574167a46535aea6e41ed23fec515c2205dabf',
        address: 'HHOPE6IJAPH3B6FXGWGFQMHSVFMAY4P2EVEE3ORYQCPQX3K3UG2NJFJKUU',
      },
      {
        index: 10n,
        seed: 'a3a71412c9bab744ddabde4cef50dd6d8bb5d2424edc2f0d57a73d3fa5a0c597',
        address: 'P4TOTB4SXV3UVWHEJRVXA3CXFWGEDI7EKFM4UK4IUEG6W7HH2P3NOXQ45Q',
      },
      {
        index: 11n,
        seed: 'c65f2bfba70030da96ce5cadc44bdd189effde5b35293a524d5949f3a6472902',
        address: 'KFNQKGAAVMZFG7GAFPSPCZBMIWAFX7FCNK24IBZL2W63AELHGYARCW2A6M',
      },
      {
        index: 100n,
        seed: 'f3fd016fc350a4eb1d4a8487e55dc04db83799d252cb5a95ee32ad6e906b17d3',
        address: '7OUULSNX7EUZOXZTWT5PUKDLJIAXINIRHEH7L2KS5Q7LABMFLHTV6SGTJY',
      },
      {
        index: 1000n,
        seed: 'dc194364f12ff50ce5e45ab4fc74389f63db3867f8e3ba19a0813c54a4a48776',
        address: 'RVBFABEUM36Z2KSIIRLUMQZFFX5HBTISOZMVBY55F2LTVIQJ4VXHQTOMN4',
      },
      {
        index: 4294967296n,
        seed: '7925a0df0ebb211c97126ace5428fad3900570379d978c1ba22657ffc7008d29',
        address: '4UU7LYG7DKPACGTT5BHVB4OQGKKHOICWSUWNCQE7LDZYYL4XLDCZG456GA',
      },
      {
        index: 9223372036854775807n,
        seed: '80004522a236312d72cc0e4bc2341627f7dde51c4ed2fb45c7ad873aa359ac63',
        address: 'VZP7KB7Z67WS2GX6K3TOR5HHYSFDYTDHA22BAFMCR2AH6YTDHRETPRXZKQ',
      },
    ],
  },
]
