/**
 * The fields that instructions name in an immediate, by group: byte; name; type; first version; properties. `array`
 * fields have an index, `effect` fields exist only after the transaction ran, `set=N` fields can be set from version N
 * on, and `app` fields are not available to logic signatures.
 */
export const fieldTable = {
  txn: `
    0; Sender; address; 1; set=5
    1; Fee; uint64; 1; set=5
    2; FirstValid; uint64; 1
    3; FirstValidTime; uint64; 7
    4; LastValid; uint64; 1
    5; Note; []byte; 1; set=6
    6; Lease; [32]byte; 1
    7; Receiver; address; 1; set=5
    8; Amount; uint64; 1; set=5
    9; CloseRemainderTo; address; 1; set=5
    10; VotePK; [32]byte; 1; set=6
    11; SelectionPK; [32]byte; 1; set=6
    12; VoteFirst; uint64; 1; set=6
    13; VoteLast; uint64; 1; set=6
    14; VoteKeyDilution; uint64; 1; set=6
    15; Type; []byte; 1; set=5
    16; TypeEnum; uint64; 1; set=5
    17; XferAsset; uint64; 1; set=5
    18; AssetAmount; uint64; 1; set=5
    19; AssetSender; address; 1; set=5
    20; AssetReceiver; address; 1; set=5
    21; AssetCloseTo; address; 1; set=5
    22; GroupIndex; uint64; 1
    23; TxID; [32]byte; 1
    24; ApplicationID; uint64; 2; set=6
    25; OnCompletion; uint64; 2; set=6
    26; ApplicationArgs; []byte; 2; array set=6
    27; NumAppArgs; uint64; 2
    28; Accounts; address; 2; array set=6
    29; NumAccounts; uint64; 2
    30; ApprovalProgram; []byte; 2; set=6
    31; ClearStateProgram; []byte; 2; set=6
    32; RekeyTo; address; 2; set=6
    33; ConfigAsset; uint64; 2; set=5
    34; ConfigAssetTotal; uint64; 2; set=5
    35; ConfigAssetDecimals; uint64; 2; set=5
    36; ConfigAssetDefaultFrozen; bool; 2; set=5
    37; ConfigAssetUnitName; []byte; 2; set=5
    38; ConfigAssetName; []byte; 2; set=5
    39; ConfigAssetURL; []byte; 2; set=5
    40; ConfigAssetMetadataHash; [32]byte; 2; set=5
    41; ConfigAssetManager; address; 2; set=5
    42; ConfigAssetReserve; address; 2; set=5
    43; ConfigAssetFreeze; address; 2; set=5
    44; ConfigAssetClawback; address; 2; set=5
    45; FreezeAsset; uint64; 2; set=5
    46; FreezeAssetAccount; address; 2; set=5
    47; FreezeAssetFrozen; bool; 2; set=5
    48; Assets; uint64; 3; array set=6
    49; NumAssets; uint64; 3
    50; Applications; uint64; 3; array set=6
    51; NumApplications; uint64; 3
    52; GlobalNumUint; uint64; 3; set=6
    53; GlobalNumByteSlice; uint64; 3; set=6
    54; LocalNumUint; uint64; 3; set=6
    55; LocalNumByteSlice; uint64; 3; set=6
    56; ExtraProgramPages; uint64; 4; set=6
    57; Nonparticipation; bool; 5; set=6
    58; Logs; []byte; 5; array effect
    59; NumLogs; uint64; 5; effect
    60; CreatedAssetID; uint64; 5; effect
    61; CreatedApplicationID; uint64; 5; effect
    62; LastLog; []byte; 6; effect
    63; StateProofPK; [64]byte; 6; set=6
    64; ApprovalProgramPages; []byte; 7; array set=7
    65; NumApprovalProgramPages; uint64; 7
    66; ClearStateProgramPages; []byte; 7; array set=7
    67; NumClearStateProgramPages; uint64; 7
    68; RejectVersion; uint64; 12; set=12
  `,
  global: `
    0; MinTxnFee; uint64; 1
    1; MinBalance; uint64; 1
    2; MaxTxnLife; uint64; 1
    3; ZeroAddress; address; 1
    4; GroupSize; uint64; 1
    5; LogicSigVersion; uint64; 2
    6; Round; uint64; 2; app
    7; LatestTimestamp; uint64; 2; app
    8; CurrentApplicationID; uint64; 2; app
    9; CreatorAddress; address; 3; app
    10; CurrentApplicationAddress; address; 5; app
    11; GroupID; [32]byte; 5
    12; OpcodeBudget; uint64; 6
    13; CallerApplicationID; uint64; 6; app
    14; CallerApplicationAddress; address; 6; app
    15; AssetCreateMinBalance; uint64; 10
    16; AssetOptInMinBalance; uint64; 10
    17; GenesisHash; [32]byte; 10
    18; PayoutsEnabled; bool; 11
    19; PayoutsGoOnlineFee; uint64; 11
    20; PayoutsPercent; uint64; 11
    21; PayoutsMinBalance; uint64; 11
    22; PayoutsMaxBalance; uint64; 11
  `,
  assetParams: `
    0; AssetTotal; uint64; 2
    1; AssetDecimals; uint64; 2
    2; AssetDefaultFrozen; bool; 2
    3; AssetUnitName; []byte; 2
    4; AssetName; []byte; 2
    5; AssetURL; []byte; 2
    6; AssetMetadataHash; [32]byte; 2
    7; AssetManager; address; 2
    8; AssetReserve; address; 2
    9; AssetFreeze; address; 2
    10; AssetClawback; address; 2
    11; AssetCreator; address; 5
  `,
  assetHolding: `
    0; AssetBalance; uint64; 2
    1; AssetFrozen; bool; 2
  `,
  appParams: `
    0; AppApprovalProgram; []byte; 5
    1; AppClearStateProgram; []byte; 5
    2; AppGlobalNumUint; uint64; 5
    3; AppGlobalNumByteSlice; uint64; 5
    4; AppLocalNumUint; uint64; 5
    5; AppLocalNumByteSlice; uint64; 5
    6; AppExtraProgramPages; uint64; 5
    7; AppCreator; address; 5
    8; AppAddress; address; 5
    9; AppVersion; uint64; 12
    10; AppSizeSponsor; address; 13
    11; AppForeignBoxReads; bool; 13; set=13
    12; AppFamilyBoxAccess; bool; 13; set=13
  `,
  acctParams: `
    0; AcctBalance; uint64; 6
    1; AcctMinBalance; uint64; 6
    2; AcctAuthAddr; address; 6
    3; AcctTotalNumUint; uint64; 8
    4; AcctTotalNumByteSlice; uint64; 8
    5; AcctTotalExtraAppPages; uint64; 8
    6; AcctTotalAppsCreated; uint64; 8
    7; AcctTotalAppsOptedIn; uint64; 8
    8; AcctTotalAssetsCreated; uint64; 8
    9; AcctTotalAssets; uint64; 8
    10; AcctTotalBoxes; uint64; 8
    11; AcctTotalBoxBytes; uint64; 8
    12; AcctIncentiveEligible; bool; 11
    13; AcctLastProposed; uint64; 11
    14; AcctLastHeartbeat; uint64; 11
  `,
  voterParams: `
    0; VoterBalance; uint64; 11
    1; VoterIncentiveEligible; bool; 11
  `,
  block: `
    0; BlkSeed; [32]byte; 7
    1; BlkTimestamp; uint64; 7
    2; BlkProposer; address; 11
    3; BlkFeesCollected; uint64; 11
    4; BlkBonus; uint64; 11
    5; BlkBranch; [32]byte; 11
    6; BlkFeeSink; address; 11
    7; BlkProtocol; []byte; 11
    8; BlkTxnCounter; uint64; 11
    9; BlkProposerPayout; uint64; 11
    10; BlkBranch512; [64]byte; 13
    11; BlkSha512_256TxnCommitment; [32]byte; 13
    12; BlkSha256TxnCommitment; [32]byte; 13
    13; BlkSha512TxnCommitment; [64]byte; 13
  `,
  jsonType: `
    0; JSONString; []byte; 7
    1; JSONUint64; uint64; 7
    2; JSONObject; []byte; 7
  `,
  base64Encoding: `
    0; URLEncoding; ; 6
    1; StdEncoding; ; 6
  `,
  vrfStandard: `
    0; VrfAlgorand; ; 7
  `,
  ecdsaCurve: `
    0; Secp256k1; ; 5
    1; Secp256r1; ; 7
  `,
  ecGroup: `
    0; BN254g1; ; 10
    1; BN254g2; ; 10
    2; BLS12_381g1; ; 10
    3; BLS12_381g2; ; 10
  `,
  mimcConfig: `
    0; BN254Mp110; ; 11
    1; BLS12_381Mp111; ; 11
  `,
  poseidon2Config: `
    0; BN254t2; ; 13
    1; BLS12_381t2; ; 13
  `,
} as const
