package awspodid

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A name is resolved once, and only an address that was checked is dialed.
func TestOnlyAddressesOfAgentsAreDialed(t *testing.T) {
	for _, address := range []string{"192.0.2.1:80", "169.254.169.254:80", "[2001:db8::1]:80", "[fd00:ec2::254]:80"} {
		_, err := dial(t.Context(), "tcp", address)
		assert.ErrorIs(t, err, errAddress, address)
	}
	for _, address := range []string{"169.254.170.23", "::ffff:169.254.170.23", "fd00:ec2::23", "169.254.170.2", "127.0.0.1", "127.9.9.9", "::1"} {
		assert.True(t, isAllowed(netip.MustParseAddr(address)), address)
	}
	_, err := dial(t.Context(), "tcp", "no port")
	assert.Error(t, err)
	assert.Nil(t, newHTTPClient("http://127.0.0.1/").Transport.(*http.Transport).Proxy, "no proxy gets the token")
}
