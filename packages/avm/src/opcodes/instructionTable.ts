/**
 * Every instruction of the virtual machine: opcode (with the second byte of a two-byte opcode); name; first version of
 * this form; immediates; arguments, deepest first; results; cost; modes. A form holds until the next form of the same
 * opcode. A cost is a constant, `base+perChunk/chunkBytes@argument`, or one of these for each field.
 */
export const instructionTable = `
00; err; 1; ; ; ; 1; sig+app
01; sha256; 1; ; []byte; [32]byte; 7; sig+app
01; sha256; 2; ; []byte; [32]byte; 35; sig+app
02; keccak256; 1; ; []byte; [32]byte; 26; sig+app
02; keccak256; 2; ; []byte; [32]byte; 130; sig+app
03; sha512_256; 1; ; []byte; [32]byte; 9; sig+app
03; sha512_256; 2; ; []byte; [32]byte; 45; sig+app
04; ed25519verify; 1; ; []byte [64]byte [32]byte; bool; 1900; sig
04; ed25519verify; 5; ; []byte [64]byte [32]byte; bool; 1900; sig+app
05; ecdsa_verify; 5; v:ecdsaCurve; [32]byte [32]byte [32]byte [32]byte [32]byte; bool; Secp256k1=1700,Secp256r1=2500; sig+app
05; ecdsa_verify; 7; v:ecdsaCurve; [32]byte [32]byte [32]byte [32]byte [32]byte; bool; Secp256k1=1700,Secp256r1=2500; sig+app
06; ecdsa_pk_decompress; 5; v:ecdsaCurve; [33]byte; [32]byte [32]byte; Secp256k1=650,Secp256r1=2400; sig+app
06; ecdsa_pk_decompress; 7; v:ecdsaCurve; [33]byte; [32]byte [32]byte; Secp256k1=650,Secp256r1=2400; sig+app
07; ecdsa_pk_recover; 5; v:ecdsaCurve; [32]byte uint64 [32]byte [32]byte; [32]byte [32]byte; 2000; sig+app
08; +; 1; ; uint64 uint64; uint64; 1; sig+app
09; -; 1; ; uint64 uint64; uint64; 1; sig+app
0a; /; 1; ; uint64 uint64; uint64; 1; sig+app
0b; *; 1; ; uint64 uint64; uint64; 1; sig+app
0c; <; 1; ; uint64 uint64; bool; 1; sig+app
0d; >; 1; ; uint64 uint64; bool; 1; sig+app
0e; <=; 1; ; uint64 uint64; bool; 1; sig+app
0f; >=; 1; ; uint64 uint64; bool; 1; sig+app
10; &&; 1; ; uint64 uint64; bool; 1; sig+app
11; ||; 1; ; uint64 uint64; bool; 1; sig+app
12; ==; 1; ; any any; bool; 1; sig+app
13; !=; 1; ; any any; bool; 1; sig+app
14; !; 1; ; uint64; uint64; 1; sig+app
15; len; 1; ; []byte; uint64; 1; sig+app
16; itob; 1; ; uint64; [8]byte; 1; sig+app
17; btoi; 1; ; []byte; uint64; 1; sig+app
18; %; 1; ; uint64 uint64; uint64; 1; sig+app
19; |; 1; ; uint64 uint64; uint64; 1; sig+app
1a; &; 1; ; uint64 uint64; uint64; 1; sig+app
1b; ^; 1; ; uint64 uint64; uint64; 1; sig+app
1c; ~; 1; ; uint64; uint64; 1; sig+app
1d; mulw; 1; ; uint64 uint64; uint64 uint64; 1; sig+app
1e; addw; 2; ; uint64 uint64; uint64 uint64; 1; sig+app
1f; divmodw; 4; ; uint64 uint64 uint64 uint64; uint64 uint64 uint64 uint64; 20; sig+app
20; intcblock; 1; uint...:varuints; ; ; 1; sig+app
21; intc; 1; i:uint8; ; uint64; 1; sig+app
22; intc_0; 1; ; ; uint64; 1; sig+app
23; intc_1; 1; ; ; uint64; 1; sig+app
24; intc_2; 1; ; ; uint64; 1; sig+app
25; intc_3; 1; ; ; uint64; 1; sig+app
26; bytecblock; 1; bytes...:byteses; ; ; 1; sig+app
27; bytec; 1; i:uint8; ; []byte; 1; sig+app
28; bytec_0; 1; ; ; []byte; 1; sig+app
29; bytec_1; 1; ; ; []byte; 1; sig+app
2a; bytec_2; 1; ; ; []byte; 1; sig+app
2b; bytec_3; 1; ; ; []byte; 1; sig+app
2c; arg; 1; n:uint8; ; []byte; 1; sig
2d; arg_0; 1; ; ; []byte; 1; sig
2e; arg_1; 1; ; ; []byte; 1; sig
2f; arg_2; 1; ; ; []byte; 1; sig
30; arg_3; 1; ; ; []byte; 1; sig
31; txn; 1; f:txnScalar; ; any; 1; sig+app
32; global; 1; f:global; ; any; 1; sig+app
33; gtxn; 1; t:uint8 f:txnScalar; ; any; 1; sig+app
34; load; 1; i:uint8; ; any; 1; sig+app
35; store; 1; i:uint8; any; ; 1; sig+app
36; txna; 2; f:txnArray i:uint8; ; any; 1; sig+app
37; gtxna; 2; t:uint8 f:txnArray i:uint8; ; any; 1; sig+app
38; gtxns; 3; f:txnScalar; uint64; any; 1; sig+app
39; gtxnsa; 3; f:txnArray i:uint8; uint64; any; 1; sig+app
3a; gload; 4; t:uint8 i:uint8; ; any; 1; app
3b; gloads; 4; i:uint8; uint64; any; 1; app
3c; gaid; 4; t:uint8; ; uint64; 1; app
3d; gaids; 4; ; uint64; uint64; 1; app
3e; loads; 5; ; uint64; any; 1; sig+app
3f; stores; 5; ; uint64 any; ; 1; sig+app
40; bnz; 1; target:int16be; uint64; ; 1; sig+app
40; bnz; 13; target:varint; uint64; ; 1; sig+app
41; bz; 2; target:int16be; uint64; ; 1; sig+app
41; bz; 13; target:varint; uint64; ; 1; sig+app
42; b; 2; target:int16be; ; ; 1; sig+app
42; b; 13; target:varint; ; ; 1; sig+app
43; return; 2; ; uint64; ; 1; sig+app
44; assert; 3; ; uint64; ; 1; sig+app
45; bury; 8; n:uint8; any; ; 1; sig+app
46; popn; 8; n:uint8; ; ; 1; sig+app
47; dupn; 8; n:uint8; any; ; 1; sig+app
48; pop; 1; ; any; ; 1; sig+app
49; dup; 1; ; any; any any; 1; sig+app
4a; dup2; 2; ; any any; any any any any; 1; sig+app
4b; dig; 3; n:uint8; any; any any; 1; sig+app
4c; swap; 3; ; any any; any any; 1; sig+app
4d; select; 3; ; any any uint64; any; 1; sig+app
4e; cover; 5; n:uint8; any; any; 1; sig+app
4f; uncover; 5; n:uint8; any; any; 1; sig+app
50; concat; 2; ; []byte []byte; []byte; 1; sig+app
51; substring; 2; s:uint8 e:uint8; []byte; []byte; 1; sig+app
52; substring3; 2; ; []byte uint64 uint64; []byte; 1; sig+app
53; getbit; 3; ; any uint64; uint64; 1; sig+app
54; setbit; 3; ; any uint64 uint64; any; 1; sig+app
55; getbyte; 3; ; []byte uint64; uint64; 1; sig+app
56; setbyte; 3; ; []byte uint64 uint64; []byte; 1; sig+app
57; extract; 5; s:uint8 l:uint8; []byte; []byte; 1; sig+app
58; extract3; 5; ; []byte uint64 uint64; []byte; 1; sig+app
59; extract_uint16; 5; ; []byte uint64; uint64; 1; sig+app
5a; extract_uint32; 5; ; []byte uint64; uint64; 1; sig+app
5b; extract_uint64; 5; ; []byte uint64; uint64; 1; sig+app
5c; replace2; 7; s:uint8; []byte []byte; []byte; 1; sig+app
5d; replace3; 7; ; []byte uint64 []byte; []byte; 1; sig+app
5e; base64_decode; 7; e:base64Encoding; []byte; []byte; 1+1/16@0; sig+app
5f; json_ref; 7; r:jsonType; []byte []byte; any; 25+2/7@0; sig+app
60; balance; 2; ; uint64; uint64; 1; app
60; balance; 4; ; any; uint64; 1; app
61; app_opted_in; 2; ; uint64 uint64; bool; 1; app
61; app_opted_in; 4; ; any uint64; bool; 1; app
62; app_local_get; 2; ; uint64 stateKey; any; 1; app
62; app_local_get; 4; ; any stateKey; any; 1; app
63; app_local_get_ex; 2; ; uint64 uint64 stateKey; any bool; 1; app
63; app_local_get_ex; 4; ; any uint64 stateKey; any bool; 1; app
64; app_global_get; 2; ; stateKey; any; 1; app
65; app_global_get_ex; 2; ; uint64 stateKey; any bool; 1; app
66; app_local_put; 2; ; uint64 stateKey any; ; 1; app
66; app_local_put; 4; ; any stateKey any; ; 1; app
67; app_global_put; 2; ; stateKey any; ; 1; app
68; app_local_del; 2; ; uint64 stateKey; ; 1; app
68; app_local_del; 4; ; any stateKey; ; 1; app
69; app_global_del; 2; ; stateKey; ; 1; app
70; asset_holding_get; 2; f:assetHolding; uint64 uint64; any bool; 1; app
70; asset_holding_get; 4; f:assetHolding; any uint64; any bool; 1; app
71; asset_params_get; 2; f:assetParams; uint64; any bool; 1; app
72; app_params_get; 5; f:appParams; uint64; any bool; 1; app
73; acct_params_get; 6; f:acctParams; any; any bool; 1; app
74; voter_params_get; 11; f:voterParams; any; any bool; 1; app
75; online_stake; 11; ; ; uint64; 1; app
76; app_params_set; 13; f:appParamsSettable; uint64; ; 1; app
78; min_balance; 3; ; uint64; uint64; 1; app
78; min_balance; 4; ; any; uint64; 1; app
80; pushbytes; 3; bytes:bytes; ; []byte; 1; sig+app
81; pushint; 3; uint:varuint; ; uint64; 1; sig+app
82; pushbytess; 8; bytes...:byteses; ; ; 1; sig+app
83; pushints; 8; uint...:varuints; ; ; 1; sig+app
84; ed25519verify_bare; 7; ; []byte [64]byte [32]byte; bool; 1900; sig+app
85; falcon_verify; 12; ; []byte []byte [1793]byte; bool; 1700; sig+app
86; sumhash512; 14; ; []byte; [64]byte; 150+4/7@0; sig+app
87; sha512; 13; ; []byte; [64]byte; 15+2/32@0; sig+app
88; callsub; 4; target:int16be; ; ; 1; sig+app
88; callsub; 13; target:varint; ; ; 1; sig+app
89; retsub; 4; ; ; ; 1; sig+app
8a; proto; 8; a:uint8 r:uint8; ; ; 1; sig+app
8b; frame_dig; 8; i:int8; ; any; 1; sig+app
8c; frame_bury; 8; i:int8; any; ; 1; sig+app
8d; switch; 8; target...:int16s; uint64; ; 1; sig+app
8e; match; 8; target...:int16s; any; ; 1; sig+app
90; shl; 4; ; uint64 uint64; uint64; 1; sig+app
91; shr; 4; ; uint64 uint64; uint64; 1; sig+app
92; sqrt; 4; ; uint64; uint64; 4; sig+app
93; bitlen; 4; ; any; uint64; 1; sig+app
94; exp; 4; ; uint64 uint64; uint64; 1; sig+app
95; expw; 4; ; uint64 uint64; uint64 uint64; 10; sig+app
96; bsqrt; 6; ; bigint; bigint; 40; sig+app
97; divw; 6; ; uint64 uint64 uint64; uint64; 1; sig+app
98; sha3_256; 7; ; []byte; [32]byte; 130; sig+app
a0; b+; 4; ; bigint bigint; []byte; 10; sig+app
a1; b-; 4; ; bigint bigint; bigint; 10; sig+app
a2; b/; 4; ; bigint bigint; bigint; 20; sig+app
a3; b*; 4; ; bigint bigint; []byte; 20; sig+app
a4; b<; 4; ; bigint bigint; bool; 1; sig+app
a5; b>; 4; ; bigint bigint; bool; 1; sig+app
a6; b<=; 4; ; bigint bigint; bool; 1; sig+app
a7; b>=; 4; ; bigint bigint; bool; 1; sig+app
a8; b==; 4; ; bigint bigint; bool; 1; sig+app
a9; b!=; 4; ; bigint bigint; bool; 1; sig+app
aa; b%; 4; ; bigint bigint; bigint; 20; sig+app
ab; b|; 4; ; []byte []byte; []byte; 6; sig+app
ac; b&; 4; ; []byte []byte; []byte; 6; sig+app
ad; b^; 4; ; []byte []byte; []byte; 6; sig+app
ae; b~; 4; ; []byte; []byte; 4; sig+app
af; bzero; 4; ; uint64; []byte; 1; sig+app
b0; log; 5; ; []byte; ; 1; app
b1; itxn_begin; 5; ; ; ; 1; app
b2; itxn_field; 5; f:txnSettable; any; ; 1; app
b3; itxn_submit; 5; ; ; ; 1; app
b4; itxn; 5; f:txnScalar; ; any; 1; app
b5; itxna; 5; f:txnArray i:uint8; ; any; 1; app
b6; itxn_next; 6; ; ; ; 1; app
b7; gitxn; 6; t:uint8 f:txnScalar; ; any; 1; app
b8; gitxna; 6; t:uint8 f:txnArray i:uint8; ; any; 1; app
b9; box_create; 8; ; boxName uint64; bool; 1; app
ba; box_extract; 8; ; boxName uint64 uint64; []byte; 1; app
bb; box_replace; 8; ; boxName uint64 []byte; ; 1; app
bc; box_del; 8; ; boxName; bool; 1; app
bd; box_len; 8; ; boxName; uint64 bool; 1; app
be; box_get; 8; ; boxName; []byte bool; 1; app
bf; box_put; 8; ; boxName []byte; ; 1; app
c0; txnas; 5; f:txnArray; uint64; any; 1; sig+app
c1; gtxnas; 5; t:uint8 f:txnArray; uint64; any; 1; sig+app
c2; gtxnsas; 5; f:txnArray; uint64 uint64; any; 1; sig+app
c3; args; 5; ; uint64; []byte; 1; sig
c4; gloadss; 6; ; uint64 uint64; any; 1; app
c5; itxnas; 6; f:txnArray; uint64; any; 1; app
c6; gitxnas; 6; t:uint8 f:txnArray; uint64; any; 1; app
d0; vrf_verify; 7; s:vrfStandard; []byte [80]byte [32]byte; [64]byte bool; 5700; sig+app
d1; block; 7; f:block; uint64; any; 1; sig+app
d2; box_splice; 10; ; boxName uint64 uint64 []byte; ; 1; app
d3; box_resize; 10; ; boxName uint64; ; 1; app
d401; app_box_create; 13; ; uint64 boxName uint64; bool; 1; app
d402; app_box_extract; 13; ; uint64 boxName uint64 uint64; []byte; 1; app
d403; app_box_replace; 13; ; uint64 boxName uint64 []byte; ; 1; app
d404; app_box_del; 13; ; uint64 boxName; bool; 1; app
d405; app_box_len; 13; ; uint64 boxName; uint64 bool; 1; app
d406; app_box_get; 13; ; uint64 boxName; []byte bool; 1; app
d407; app_box_put; 13; ; uint64 boxName []byte; ; 1; app
d408; app_box_splice; 13; ; uint64 boxName uint64 uint64 []byte; ; 1; app
d409; app_box_resize; 13; ; uint64 boxName uint64; ; 1; app
e0; ec_add; 10; g:ecGroup; []byte []byte; []byte; BN254g1=125,BN254g2=170,BLS12_381g1=205,BLS12_381g2=290; sig+app
e1; ec_scalar_mul; 10; g:ecGroup; []byte []byte; []byte; BN254g1=1810,BN254g2=3430,BLS12_381g1=2950,BLS12_381g2=6530; sig+app
e2; ec_pairing_check; 10; g:ecGroup; []byte []byte; bool; BN254g1=8000+7400/64@1,BN254g2=8000+7400/128@1,BLS12_381g1=13000+10000/96@1,BLS12_381g2=13000+10000/192@1; sig+app
e3; ec_multi_scalar_mul; 10; g:ecGroup; []byte []byte; []byte; BN254g1=3600+90/32@1,BN254g2=7200+270/32@1,BLS12_381g1=6500+95/32@1,BLS12_381g2=14850+485/32@1; sig+app
e4; ec_subgroup_check; 10; g:ecGroup; []byte; bool; BN254g1=20,BN254g2=3100,BLS12_381g1=1850,BLS12_381g2=2340; sig+app
e5; ec_map_to; 10; g:ecGroup; []byte; []byte; BN254g1=630,BN254g2=3300,BLS12_381g1=1950,BLS12_381g2=8150; sig+app
e6; mimc; 11; c:mimcConfig; []byte; [32]byte; BN254Mp110=10+550/32@0,BLS12_381Mp111=10+550/32@0; sig+app
e7; poseidon2; 13; c:poseidon2Config; []byte; [32]byte; BN254t2=7+350/32@0,BLS12_381t2=7+350/32@0; sig+app
`
