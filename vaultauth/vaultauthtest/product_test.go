package vaultauthtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDefaultProduct(t *testing.T) {
	assert.Equal(t, defaultProduct, New(nil).Product)
	assert.Contains(t, []Product{OpenBao, Vault}, defaultProduct)
}
