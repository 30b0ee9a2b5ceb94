package mailsim

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // CRAM-MD5 is what it is
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/mail"
	"strings"
)

// subjectOf is the subject as people read it.
func subjectOf(header mail.Header) string {
	subject := header.Get("Subject")
	if decoded, err := new(mime.WordDecoder).DecodeHeader(subject); err == nil {
		return decoded
	}
	return subject
}

// auth logs in, with PLAIN, LOGIN, CRAM-MD5, SCRAM-SHA-256 or XOAUTH2. Challenges are asked within the
// command: what is journaled is the command and how it ended, never a password.
func (s *session) auth(w http.ResponseWriter) {
	if s.sim.options.Users == nil {
		say(w, 502, "5.5.1 No login here")
		return
	}
	mechanism, initial, _ := strings.Cut(s.argument, " ")
	user := ""
	switch strings.ToUpper(mechanism) {
	case "PLAIN":
		user = s.plain(initial)
	case "LOGIN":
		name := s.challenge("Username:")
		if password := s.challenge("Password:"); s.knows(name, password) {
			user = name
		}
	case "CRAM-MD5":
		user = s.cram()
	case "SCRAM-SHA-256":
		user = s.scram()
	case "XOAUTH2":
		user = s.token(initial)
	default:
		say(w, 504, "5.5.4 Unrecognized authentication type")
		return
	}
	if user == "" {
		say(w, 535, "5.7.8 Authentication credentials invalid")
		return
	}
	s.user = user
	say(w, 235, "2.7.0 Authentication successful")
}

func (s *session) knows(user, password string) bool {
	known, is := s.sim.options.Users[user]
	return is && known == password
}

// challenge asks for something and returns the answer; "" for none.
func (s *session) challenge(text string) string {
	if _, err := io.WriteString(s.conn, "334 "+base64.StdEncoding.EncodeToString([]byte(text))+"\r\n"); err != nil {
		return ""
	}
	line, err := s.text.ReadLine()
	if err != nil {
		return ""
	}
	answer, err := base64.StdEncoding.DecodeString(line)
	if err != nil {
		return ""
	}
	return string(answer)
}

func (s *session) plain(initial string) string {
	text, err := base64.StdEncoding.DecodeString(initial)
	if initial == "" || err != nil {
		text = []byte(s.challenge(""))
	}
	parts := strings.Split(string(text), "\x00")
	if len(parts) == 3 && s.knows(parts[1], parts[2]) {
		return parts[1]
	}
	return ""
}

func (s *session) cram() string {
	const challenge = "<1896.697170952@sandbox.example>"
	user, digest, _ := strings.Cut(s.challenge(challenge), " ")
	mac := hmac.New(md5.New, []byte(s.sim.options.Users[user]))
	mac.Write([]byte(challenge))
	if _, known := s.sim.options.Users[user]; known && hmac.Equal([]byte(digest), []byte(hex.EncodeToString(mac.Sum(nil)))) {
		return user
	}
	return ""
}

// token takes the password of a user for his token.
func (s *session) token(initial string) string {
	text, err := base64.StdEncoding.DecodeString(initial)
	if err != nil {
		return ""
	}
	user, token := "", ""
	for _, part := range strings.Split(string(text), "\x01") {
		if value, is := strings.CutPrefix(part, "user="); is {
			user = value
		}
		if value, is := strings.CutPrefix(part, "auth=Bearer "); is {
			token = value
		}
	}
	if s.knows(user, token) {
		return user
	}
	s.challenge(`{"status":"401","schemes":"bearer"}`)
	return ""
}

// scram is SCRAM-SHA-256 (RFC 7677) with a nonce and a salt that are no secrets here.
func (s *session) scram() string {
	const more, salt, rounds = "sandbox", "c2FuZGJveA==", 4096
	first, is := strings.CutPrefix(s.challenge(""), "n,,")
	name, nonce, _ := strings.Cut(first, ",r=")
	name = strings.NewReplacer("=2C", ",", "=3D", "=").Replace(strings.TrimPrefix(name, "n="))
	password, known := s.sim.options.Users[name]
	if !is || !known {
		return ""
	}
	said := fmt.Sprintf("r=%s%s,s=%s,i=%d", nonce, more, salt, rounds)
	last := s.challenge(said)
	bare, proof, _ := strings.Cut(last, ",p=")
	raw, _ := base64.StdEncoding.DecodeString(salt)
	salted, err := pbkdf2.Key(sha256.New, password, raw, rounds, sha256.Size)
	if err != nil || bare != "c=biws,r="+nonce+more {
		return ""
	}
	message := []byte(first + "," + said + "," + bare)
	clientKey := sum(salted, []byte("Client Key"))
	stored := sha256.Sum256(clientKey)
	signature := sum(stored[:], message)
	for i := range clientKey {
		clientKey[i] ^= signature[i]
	}
	if !hmac.Equal([]byte(proof), []byte(base64.StdEncoding.EncodeToString(clientKey))) {
		return ""
	}
	s.challenge("v=" + base64.StdEncoding.EncodeToString(sum(sum(salted, []byte("Server Key")), message)))
	return name
}

func sum(key, message []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(message)
	return mac.Sum(nil)
}
