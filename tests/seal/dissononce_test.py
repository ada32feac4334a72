#!/usr/bin/python3
"""The handshake against another implementation of Noise, in both roles: Debian's python3-dissononce. Its keys are random, so
each run has others. handshake_peer's path is the argument."""
import os
import subprocess
import sys

try:
    from dissononce.cipher.aesgcm import AESGCMCipher
    from dissononce.dh.x25519.private import PrivateKey
    from dissononce.dh.x25519.x25519 import X25519DH
    from dissononce.extras.processing.handshakestate_guarded import GuardedHandshakeState
    from dissononce.hash.sha256 import SHA256Hash
    from dissononce.processing.handshakepatterns.interactive.IK import IKHandshakePattern
    from dissononce.processing.impl.cipherstate import CipherState
    from dissononce.processing.impl.handshakestate import HandshakeState
    from dissononce.processing.impl.symmetricstate import SymmetricState
    from dissononce.processing.modifiers.psk import PSKPatternModifier
except ImportError as error:
    print(f"skipped: {error}; scripts/install-dependencies installs python3-dissononce")
    sys.exit(77)

PAYLOAD_BYTES, ROUNDS = 104, 8
PROLOGUE, PSK = b"sluice 2", bytes(32)


def begin(initiator, own, peer):
    state = GuardedHandshakeState(HandshakeState(SymmetricState(CipherState(AESGCMCipher()), SHA256Hash()), X25519DH()))
    state.initialize(PSKPatternModifier(2).modify(IKHandshakePattern()), initiator, PROLOGUE, s=own,
                     rs=peer if initiator else None, psks=[PSK])
    return state


def start(peer_program, role, private, public, payload):
    return subprocess.Popen([peer_program, role, private.hex(), public.hex(), os.urandom(32).hex(), payload.hex()],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def check_keys(states, out_key, in_key):
    """states: sends, receives, of the other implementation."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    sends, receives = states
    sealed = sends.encrypt_with_ad(b"known", b"text")
    assert AESGCM(in_key).decrypt(bytes(12), sealed, b"known") == b"text"
    assert receives.decrypt_with_ad(b"known", AESGCM(out_key).encrypt(bytes(12), b"back", b"known")) == b"back"


def one_round(program, role):
    dh = X25519DH()
    theirs, ours = dh.generate_keypair(), os.urandom(32)
    our_public = dh.generate_keypair(PrivateKey(ours)).public
    payload, answer = os.urandom(PAYLOAD_BYTES), os.urandom(PAYLOAD_BYTES)
    peer = start(program, role, ours, theirs.public.data, payload)
    got, out = bytearray(), bytearray()
    if role == "initiate":
        state = begin(False, theirs, None)
        state.read_message(bytes.fromhex(peer.stdout.readline()), got)
        assert state.rs.data == our_public.data
        pair = state.write_message(answer, out)
        peer.stdin.write(out.hex() + "\n")
    else:
        state = begin(True, theirs, our_public)
        state.write_message(answer, out)
        peer.stdin.write(out.hex() + "\n")
        peer.stdin.flush()
        pair = state.read_message(bytes.fromhex(peer.stdout.readline()), got)
    peer.stdin.close()
    assert bytes(got) == payload
    lines = [bytes.fromhex(line) for line in peer.stdout.read().split()]
    assert peer.wait() == 0 and lines[0] == answer
    from_initiator, from_responder = pair
    states = (from_responder, from_initiator) if role == "initiate" else (from_initiator, from_responder)
    check_keys(states, lines[1], lines[2])


def main():
    for role in ("initiate", "respond"):
        for _ in range(ROUNDS):
            one_round(sys.argv[1], role)
        print(f"{ROUNDS} handshakes with dissononce, ours: {role}")


main()
