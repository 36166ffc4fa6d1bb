#!/bin/sh
# A program that does what the demo asks of it, but for one thing.
case $1 in
key) echo key ;;
admin)
	echo 'tocsin: database or disk is full' >&2
	exit 1
	;;
serve) echo 'The demo went on.' ;;
esac
